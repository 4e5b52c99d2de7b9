"""The actions of the full screen: slash commands, keys and palette entries. Importing this package
registers them in ``app.action_registry``."""

from app.action_registry.registry import actions as actions
from app.actions import background as background
from app.actions import goals as goals
from app.actions import instructions as instructions
from app.actions import model as model
from app.actions import permissions as permissions
from app.actions import program as program
from app.actions import prompt as prompt
from app.actions import review as review
from app.actions import servers as servers
from app.actions import session as session
from app.actions import usage as usage
from app.actions import view as view
from app.actions import worktrees as worktrees
