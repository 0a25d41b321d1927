"""What a pass tells each DevTools target before the target runs."""

import importlib.resources
import re
from dataclasses import dataclass
from typing import Any

from loadpath.profiler.manifest import PassKind
from loadpath.profiler.settings import Emulation, Settings

__all__ = ["SCRIPT_URL", "WINDOW", "Command", "UserAgent", "session_commands"]

BODY_BUFFER_BYTES = 1 << 30
"""DevTools' own limits (`kDefaultTotalBufferSize`, 100 MB in inspector_network_agent.cc) evict
bodies of large pages before they are fetched."""

STACK_DEPTH = 32
"""Frames of asynchronous stacks, as Chromium's own DevTools asks for."""

WINDOW = (1350, 940)
"""CSS pixels of the desktop window: Lighthouse's `DESKTOP_EMULATION_METRICS`."""

MOBILE_METRICS = {"width": 412, "height": 823, "deviceScaleFactor": 1.75, "mobile": True}
"""A Moto G Power, CSS pixels: Lighthouse's `MOTOGPOWER_EMULATION_METRICS`."""

MOBILE_MODEL = "moto g power (2022)"
MOBILE_ANDROID = "11.0"
"""As Lighthouse (`MOTOG4_USERAGENT`) has them."""

SCRIPT_URL = "loadpath-script.js"
"""What stacks call the text of `--script`."""

Command = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class UserAgent:
    """Who the browser says that it is."""

    text: str
    metadata: dict[str, Any]

    @staticmethod
    def of(browser_user_agent: str, emulate: Emulation) -> "UserAgent":
        """The same version of Chromium with a window, on the emulated device.

        Sites turn away, or serve differently, a browser that calls itself headless.
        """
        match = re.search(r"Chrome/((\d+)[\d.]*)", browser_user_agent)
        full, major = (match[1], match[2]) if match else ("0.0.0.0", "0")
        mobile = emulate is Emulation.MOBILE
        if mobile:
            system = f"Linux; Android 11; {MOBILE_MODEL}"
        else:
            found = re.search(r"\(([^)]*)\)", browser_user_agent)
            system = found[1] if found else "X11; Linux x86_64"
        # Chrome's reduced user agent: the minor versions are zero.
        text = (
            f"Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) "
            f"Chrome/{major}.0.0.0 {'Mobile ' if mobile else ''}Safari/537.36"
        )

        def brands(version: str, other: str) -> list[dict[str, str]]:
            return [
                {"brand": "Not:A-Brand", "version": other},
                {"brand": "Chromium", "version": version},
            ]

        metadata = {
            "brands": brands(major, "8"),
            "fullVersionList": brands(full, "8.0.0.0"),
            "platform": "Android" if mobile else "Linux",
            "platformVersion": MOBILE_ANDROID if mobile else "",
            "architecture": "" if mobile else "x86",
            "bitness": "" if mobile else "64",
            "model": MOBILE_MODEL if mobile else "",
            "mobile": mobile,
        }
        return UserAgent(text, metadata)


def session_commands(
    kind: PassKind, settings: Settings, target_type: str, user_agent: UserAgent
) -> list[Command]:
    """What to send to a new target, in order. Never Runtime.enable: it doubles load times."""
    is_document = target_type in ("page", "iframe")
    commands: list[Command] = [
        *_network(kind, settings),
        (
            "Emulation.setUserAgentOverride",
            {"userAgent": user_agent.text, "userAgentMetadata": user_agent.metadata},
        ),
    ]
    if kind is PassKind.STRUCTURE:
        commands += [
            ("Debugger.enable", {}),
            # Without these, what timers and promises request seems to come from the parser.
            ("Debugger.setAsyncCallStackDepth", {"maxDepth": STACK_DEPTH}),
            ("Debugger.setSkipAllPauses", {"skip": True}),
        ]
    if is_document:
        commands += [("Page.enable", {}), ("Page.setLifecycleEventsEnabled", {"enabled": True})]
        if kind is PassKind.STRUCTURE:
            commands.append(_new_document(_wrapper()))
        if settings.script is not None:
            commands.append(_new_document(f"{settings.script}\n//# sourceURL={SCRIPT_URL}"))
        if settings.cpu_slowdown != 1.0:
            commands.append(("Emulation.setCPUThrottlingRate", {"rate": settings.cpu_slowdown}))
        if settings.emulate is Emulation.MOBILE:
            commands += [
                ("Emulation.setDeviceMetricsOverride", MOBILE_METRICS),
                ("Emulation.setTouchEmulationEnabled", {"enabled": True}),
            ]
    return commands


def _network(kind: PassKind, settings: Settings) -> list[Command]:
    limits = {
        "maxTotalBufferSize": BODY_BUFFER_BYTES,
        "maxResourceBufferSize": BODY_BUFFER_BYTES,
    }
    commands: list[Command] = []
    if kind is PassKind.STRUCTURE:
        # In the browser's process, so that bodies outlive the worker or document that loaded them.
        commands.append(("Network.configureDurableMessages", limits))
        commands.append(("Network.enable", limits | {"enableDurableMessages": True}))
    elif kind is PassKind.TIMING or settings.headers:
        # A plain pass needs the domain for headers alone: they are sent only while it is enabled.
        commands.append(("Network.enable", {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0}))
    if settings.headers:
        commands.append(("Network.setExtraHTTPHeaders", {"headers": settings.headers}))
    return commands


def _new_document(source: str) -> Command:
    return (
        "Page.addScriptToEvaluateOnNewDocument",
        {"source": source, "runImmediately": False},
    )


def _wrapper() -> str:
    return (importlib.resources.files("loadpath.profiler") / "wrapper.js").read_text()
