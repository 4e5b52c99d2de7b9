"""The actions: importing this package fills the registry of ``app.commands``."""

from app.actions import beside as beside
from app.actions import family as family
from app.actions import history as history
from app.actions import instructions as instructions
from app.actions import look as look
from app.actions import lsp as lsp
from app.actions import mcp as mcp
from app.actions import model as model
from app.actions import permissions as permissions
from app.actions import pinning as pinning
from app.actions import program as program
from app.actions import prompting as prompting
from app.actions import session as session
from app.actions import shells as shells
from app.actions import standing as standing
from app.actions import transfer as transfer
from app.actions import trust as trust
from app.actions import undoing as undoing
from app.actions import waiting as waiting
from app.actions import window as window
