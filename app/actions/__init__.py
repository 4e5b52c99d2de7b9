"""The actions of the user interface. Importing this package registers them."""

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
from app.commands.registry import actions as actions
