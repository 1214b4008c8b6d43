"""Every setting, declared once: its type, default, check, environment variable, option and help text.

The loader, the command line and the generated documentation read `SETTINGS`; `ForgeConfig` inherits the
fields. To add a setting, add a line to `Settings` and read it where it takes effect.

`forge --help` imports this module, so it does without dataclasses and typing, which take 20 ms to import.
"""

from __future__ import annotations

from forge_core.config import amounts, checks
from forge_core.config.permission_mode import PermissionMode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Literal, TypeAlias, TypeVar, dataclass_transform

    Declared = TypeVar("Declared")
    AttributionSetting: TypeAlias = Literal["off", "assisted-by", "co-authored-by"]
    DataCollectionSetting: TypeAlias = Literal["allow", "deny"]
    EditorLinksSetting: TypeAlias = Literal["off", "file", "vscode", "cursor", "zed", "idea"]
    EffortSetting: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
    LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]
    NotifySetting: TypeAlias = Literal["auto", "bell", "off"]
    ProjectAccess: TypeAlias = Literal["always", "trusted", "never"]
    RoutingSetting: TypeAlias = Literal["price", "throughput", "latency"]
    SandboxSetting: TypeAlias = Literal["auto", "strict", "off"]
    ThinkingSetting: TypeAlias = Literal["hidden", "folded", "full"]
else:
    AttributionSetting = DataCollectionSetting = EditorLinksSetting = EffortSetting = RoutingSetting = str
    LogLevel = NotifySetting = SandboxSetting = ThinkingSetting = str

    def dataclass_transform(**_options):
        return lambda decorator: decorator


class Setting:
    """How one setting is declared."""

    __slots__ = (
        *("alias", "check", "default", "metavar", "option"),
        *("project", "short_option", "summary", "table", "variable"),
    )

    def __init__(
        self,
        *,
        default: Any,
        check: Callable[[Any], Any],
        summary: str,
        variable: str | None = None,
        option: str | None = None,
        short_option: str | None = None,
        alias: str | None = None,
        metavar: str | None = None,
        table: str | None = None,
        project: ProjectAccess = "never",
    ) -> None:
        self.default = default
        self.check = check
        """Return the value in the setting's type. Raises ValueError whose text completes "it must be …"."""
        self.summary = summary
        self.variable = variable
        """Environment variable."""
        self.option = option
        """Option of `forge chat` and `forge run`."""
        self.short_option = short_option
        self.alias = alias
        """Another name of the option."""
        self.metavar = metavar
        self.table = table
        """The table of the file that holds it: `budget_day` is `day` in `[budget]`."""
        self.project = project
        """When a project's own file may set it: always, only in a trusted folder, or never."""

    @property
    def is_list(self) -> bool:
        """Whether the values of all sources are joined. Otherwise the strongest source wins."""
        return self.check in (checks.rules, checks.paths, checks.names)

    @property
    def choices(self) -> tuple[str, ...] | None:
        return self.check.choices if isinstance(self.check, checks.OneOf) else None


def setting(**declaration: Any) -> Any:
    """Declare a field of `Settings`; the arguments are those of `Setting`."""
    return Setting(**declaration)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(setting,))
def _declares_fields(cls: type[Declared]) -> type[Declared]:
    """Tell type checkers that the class becomes a dataclass, which `config.forge_config` makes of it."""
    return cls


@_declares_fields
class Settings:
    """The settings, in the order of `--help` and the documentation. `ForgeConfig` inherits the fields."""

    model: str | None = setting(
        default=None,
        check=checks.text,
        variable="FORGE_MODEL",
        option="--model",
        short_option="-m",
        project="trusted",
        summary="the model's id; `offline` for the built-in one",
    )
    base_url: str | None = setting(
        default=None,
        check=checks.url,
        variable="FORGE_BASE_URL",
        option="--base-url",
        metavar="URL",
        summary="an OpenAI-compatible endpoint, e.g. http://localhost:11434/v1",
    )
    effort: EffortSetting | None = setting(
        default=None,
        check=checks.OneOf("none", "minimal", "low", "medium", "high", "xhigh", "max"),
        variable="FORGE_EFFORT",
        option="--effort",
        project="trusted",
        summary="how much the model reasons before it answers (default: the model's own)",
    )
    models: tuple[str, ...] = setting(
        default=(), check=checks.names, summary="models that answer, in this order, if the chosen one cannot"
    )
    model_aliases_haiku: str | None = setting(
        default=None,
        check=checks.text,
        table="model_aliases",
        project="trusted",
        summary="the model that `haiku` means in commands and agents made for Claude Code",
    )
    model_aliases_sonnet: str | None = setting(
        default=None,
        check=checks.text,
        table="model_aliases",
        project="trusted",
        summary="the model that `sonnet` means in commands and agents made for Claude Code",
    )
    model_aliases_opus: str | None = setting(
        default=None,
        check=checks.text,
        table="model_aliases",
        project="trusted",
        summary="the model that `opus` means in commands and agents made for Claude Code",
    )
    small_model: str | None = setting(
        default=None,
        check=checks.text,
        variable="FORGE_SMALL_MODEL",
        project="trusted",
        summary="the model of sub-agents that only search and read (default: the session's)",
    )
    provider_order: tuple[str, ...] = setting(
        default=(),
        check=checks.names,
        table="provider",
        summary="OpenRouter: the upstream providers to try first, in this order",
    )
    provider_only: tuple[str, ...] = setting(
        default=(),
        check=checks.names,
        table="provider",
        summary="OpenRouter: the only upstream providers that may answer",
    )
    provider_ignore: tuple[str, ...] = setting(
        default=(),
        check=checks.names,
        table="provider",
        summary="OpenRouter: upstream providers that never answer",
    )
    provider_allow_fallbacks: bool | None = setting(
        default=None,
        check=checks.yes_or_no,
        table="provider",
        summary="OpenRouter: whether other upstream providers may answer when those in `provider_order` "
        "cannot",
    )
    provider_sort: RoutingSetting | None = setting(
        default=None,
        check=checks.OneOf("price", "throughput", "latency"),
        table="provider",
        summary="OpenRouter: what upstream providers are chosen by",
    )
    provider_data_collection: DataCollectionSetting | None = setting(
        default=None,
        check=checks.OneOf("allow", "deny"),
        table="provider",
        summary="OpenRouter: whether upstream providers may be used that keep prompts",
    )
    provider_zdr: bool | None = setting(
        default=None,
        check=checks.yes_or_no,
        table="provider",
        summary="OpenRouter: whether only endpoints with zero data retention may answer",
    )
    context_window: int | None = setting(
        default=None,
        check=checks.whole_number,
        variable="FORGE_CONTEXT_WINDOW",
        option="--context-window",
        metavar="TOKENS",
        summary="the model's context window in tokens (default: what the provider reports)",
    )
    permission_mode: PermissionMode = setting(
        default=PermissionMode.ASK,
        check=checks.OneOf(*PermissionMode, option_only=PermissionMode.YOLO, synonyms=checks.MODE_SYNONYMS),
        variable="FORGE_PERMISSION_MODE",
        option="--permission-mode",
        project="trusted",
        summary="how much runs without asking",
    )
    allow: tuple[str, ...] = setting(
        default=(),
        check=checks.rules,
        option="--allow",
        metavar="RULE",
        project="trusted",
        summary="calls that run without asking, as tool(pattern), e.g. 'bash(pytest:*)'",
    )
    ask: tuple[str, ...] = setting(
        default=(),
        check=checks.rules,
        project="trusted",
        summary="calls that always ask, as tool(pattern); stronger than `allow`, weaker than `deny`",
    )
    deny: tuple[str, ...] = setting(
        default=(),
        check=checks.rules,
        option="--deny",
        metavar="RULE",
        project="trusted",
        summary="calls that never run, as tool(pattern)",
    )
    sandbox: SandboxSetting = setting(
        default="auto",
        check=checks.OneOf("auto", "strict", "off"),
        variable="FORGE_SANDBOX",
        option="--sandbox",
        summary="how commands are confined: auto (the best sandbox available), strict (a full sandbox or no "
        "start), off",
    )
    sandbox_read: tuple[str, ...] = setting(
        default=(),
        check=checks.paths,
        summary="files and folders that sandboxed commands may read although they are hidden in your home "
        "folder, e.g. '~/data'",
    )
    add_dirs: tuple[str, ...] = setting(
        default=(),
        check=checks.paths,
        option="--add-dir",
        metavar="DIR",
        summary="further folders to work in, by the same rules as the folder itself, e.g. '~/lib'",
    )
    command_memory_gb: float | None = setting(
        default=None,
        check=checks.gigabytes,
        summary="how much memory the running commands of a session may use together, in GB; the largest is "
        "stopped beyond that (default: half of the machine's)",
    )
    command_file_gb: float = setting(
        default=20.0,
        check=checks.gigabytes,
        summary="the size of the largest file that a command may write, in GB",
    )
    command_open_files: int = setting(
        default=65_536,
        check=checks.at_least_64,
        summary="how many files each process of a command may have open",
    )
    command_processes: int = setting(
        default=4_096,
        check=checks.at_least_64,
        summary="how many processes the running commands of a session may have together; the command with "
        "most is stopped beyond that",
    )
    safe: bool = setting(
        default=False,
        check=checks.yes_or_no,
        variable="FORGE_SAFE",
        option="--safe",
        summary="whether commands, skills, agents, styles, hooks and MCP servers from files are left out",
    )
    claude_instructions: bool = setting(
        default=False,
        check=checks.yes_or_no,
        summary="whether your own instructions for Claude, `~/.claude/CLAUDE.md`, count too",
    )
    mcp_defer: str = setting(
        default="auto",
        check=checks.deferral,
        variable="FORGE_MCP_DEFER",
        table="mcp",
        project="trusted",
        summary="when the model must search for the tools of MCP servers: auto (if they are more than 40, or "
        "take more than 10% of its window), always, never, or from a percentage of the window on, like 5%",
    )
    style: str = setting(
        default="default",
        check=checks.text,
        variable="FORGE_STYLE",
        project="trusted",
        summary="how the model writes: default, concise, explaining, or a style of a file",
    )
    theme: str = setting(
        default=checks.AUTO_THEME,
        check=checks.theme,
        variable="FORGE_THEME",
        option="--theme",
        project="always",
        summary="the name of the color theme; auto goes by the background of the terminal",
    )
    theme_dark: str = setting(
        default="forge-dark",
        check=checks.theme,
        project="always",
        summary="the theme that `auto` means in a dark terminal, and where the background is not known",
    )
    theme_light: str = setting(
        default="forge-light", check=checks.theme, project="always", summary="the same for a light terminal"
    )
    thinking: ThinkingSetting = setting(
        default="folded",
        check=checks.OneOf("hidden", "folded", "full"),
        variable="FORGE_THINKING",
        project="always",
        summary="how the model's reasoning is displayed: hidden, folded, full",
    )
    plain: bool = setting(
        default=False,
        check=checks.yes_or_no,
        variable="FORGE_PLAIN",
        summary="whether the chat is lines of text, for screen readers, in place of the screen",
    )
    spoken_diffs: bool = setting(
        default=False,
        check=checks.yes_or_no,
        variable="FORGE_SPOKEN_DIFFS",
        summary="whether changes in the plain chat say `Added line` and `Removed line` in place of + and -",
    )
    reduced_motion: bool = setting(
        default=False,
        check=checks.yes_or_no,
        variable="FORGE_REDUCED_MOTION",
        summary="whether nothing on the screen moves by itself: no spinner, no animation",
    )
    notify: NotifySetting = setting(
        default="auto",
        check=checks.OneOf("auto", "bell", "off"),
        variable="FORGE_NOTIFY",
        summary="how Forge calls you when its window is not focused: auto (a desktop notification where the "
        "terminal supports it, else the bell), bell, off",
    )
    editor_links: EditorLinksSetting = setting(
        default="file",
        check=checks.OneOf("off", "file", "vscode", "cursor", "zed", "idea"),
        variable="FORGE_EDITOR_LINKS",
        summary="what the paths of files in answers and tool cards are links to: off (nothing), file (the "
        "file, for the terminal to open), or the line in an editor: vscode, cursor, zed, idea",
    )
    history: bool = setting(
        default=True, check=checks.yes_or_no, summary="whether other sessions can recall your messages"
    )
    vim: bool = setting(
        default=False,
        check=checks.yes_or_no,
        variable="FORGE_VIM",
        summary="whether the keys of Vim edit the message; `/vim` switches",
    )
    log_level: LogLevel = setting(
        default="info",
        check=checks.OneOf("debug", "info", "warning", "error"),
        variable="FORGE_LOG_LEVEL",
        option="--log-level",
        summary="the level of detail in the log file (default: info)",
    )
    max_iterations: int = setting(
        default=200,
        check=checks.whole_number,
        variable="FORGE_MAX_ITERATIONS",
        option="--max-iterations",
        alias="--max-turns",
        metavar="N",
        summary="the maximum number of model calls per turn (default: 200)",
    )
    max_agents: int = setting(
        default=4,
        check=checks.at_least_1,
        variable="FORGE_MAX_AGENTS",
        summary="how many sub-agents run at the same time (default: 4)",
    )
    max_cost: float | None = setting(
        default=None,
        check=amounts.dollars,
        variable="FORGE_MAX_COST",
        option="--max-cost",
        metavar="USD",
        summary="the most that a session may cost, in US dollars",
    )
    max_tokens: int | None = setting(
        default=None,
        check=amounts.count,
        variable="FORGE_MAX_TOKENS",
        option="--max-tokens",
        metavar="N",
        summary="the most tokens that a session may use, input and output of all model calls together",
    )
    max_calls: int | None = setting(
        default=None,
        check=amounts.count,
        variable="FORGE_MAX_CALLS",
        option="--max-calls",
        metavar="N",
        summary="the maximum number of model calls per session",
    )
    time_limit: float | None = setting(
        default=None,
        check=amounts.seconds,
        variable="FORGE_TIME_LIMIT",
        option="--time-limit",
        metavar="TIME",
        summary="how long the turns of a session may take together, e.g. 30m; waiting for you does not count",
    )
    max_turn_cost: float | None = setting(
        default=None, check=amounts.dollars, summary="the most that a turn may cost, in US dollars"
    )
    max_turn_tokens: int | None = setting(
        default=None, check=amounts.count, summary="the most tokens that a turn may use"
    )
    turn_time_limit: float | None = setting(
        default=None,
        check=amounts.seconds,
        option="--turn-time-limit",
        metavar="TIME",
        summary="how long a turn may take, e.g. 5m",
    )
    budget_day: float | None = setting(
        default=None,
        check=amounts.dollars,
        table="budget",
        summary="the most that all sessions of a day may cost together, in US dollars",
    )
    budget_month: float | None = setting(
        default=None, check=amounts.dollars, table="budget", summary="the same for a month"
    )
    git_attribution: AttributionSetting = setting(
        default="off",
        check=checks.OneOf("off", "assisted-by", "co-authored-by"),
        table="git",
        project="trusted",
        summary="the trailer that credits Forge and the model in the commit messages that it writes",
    )
    sessions_keep_days: int | None = setting(
        default=None,
        check=amounts.days,
        table="sessions",
        summary="how many days a session that is not used is kept; without it, always",
    )
    max_retries: int = setting(
        default=2,
        check=checks.whole_number,
        variable="FORGE_MAX_RETRIES",
        summary="how often a failed model call is retried",
    )
    first_token_timeout_s: float = setting(
        default=60.0, check=checks.seconds, summary="seconds to wait for the first token of an answer"
    )
    idle_timeout_s: float = setting(
        default=60.0, check=checks.seconds, summary="seconds without data after which a stream is broken"
    )
    connect_timeout_s: float = setting(
        default=10.0, check=checks.seconds, summary="seconds to wait for a connection to the provider"
    )


SETTINGS: Mapping[str, Setting] = {
    name: declared for name, declared in vars(Settings).items() if isinstance(declared, Setting)
}
TABLES = frozenset(declared.table for declared in SETTINGS.values() if declared.table)
"""The tables that a settings file may hold."""


def choices(name: str) -> tuple[str, ...]:
    """Return the values that the setting accepts. Raises KeyError for a setting without a fixed list."""
    accepted = SETTINGS[name].choices
    if accepted is None:
        raise KeyError(name)
    return accepted


def check_value(name: str, value: Any, *, from_option: bool = False) -> Any:
    """Return `value` in the type of the setting `name`.

    Raises:
        ConfigError: with the setting, the value and what is accepted.
    """
    declared = SETTINGS[name]
    from forge_core.errors import ConfigError

    try:
        checked = declared.check(value)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{name} is {value!r}; it must be {error}.") from error
    option_only = declared.check.option_only if isinstance(declared.check, checks.OneOf) else None
    if not from_option and checked == option_only is not None:
        raise ConfigError(
            f"{name} is {str(checked)!r}; that value can only be set with {declared.option} {checked}."
        )
    return checked
