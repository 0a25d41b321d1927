"""Which trace categories each kind of pass records, and what each is for.

Found by recording a page with every construct of the page graph, one category at a time (Chromium
156). Left out: `loading` (steps of loaders in all processes; its milestones come with
`devtools.timeline`, too),
`disabled-by-default-v8.compile` and `.gc` (details of what `devtools.timeline` has as a whole),
`disabled-by-default-devtools.timeline.invalidationTracking` (an event for each invalidated element,
which takes as long as the work that it explains), `devtools.timeline.async` (no events any more).
"""

__all__ = ["STRUCTURE", "TIMING"]

TIMING: dict[str, str] = {
    "devtools.timeline": (
        "ParseHTML, EvaluateScript, v8.compile, v8.evaluateModule, FunctionCall with positions, "
        "EventDispatch, TimerInstall/Fire/Remove, animation frames, idle callbacks, XHR, "
        "Schedule/HandlePostMessage, Resource*, UpdateLayoutTree, Layout, PrePaint, Paint, "
        "MinorGC, MajorGC, MarkLoad, MarkDOMContent, paint milestones"
    ),
    "disabled-by-default-devtools.timeline": "RunTask: the tasks of every thread; image decoding",
    "v8.execute": "RunMicrotasks",
    "blink.user_timing": "navigationStart and the other points of Navigation Timing",
}

STRUCTURE: dict[str, str] = TIMING | {
    "disabled-by-default-devtools.timeline.stack": (
        "JavaScript stacks of TimerInstall, ScheduleStyleRecalculation, InvalidateLayout and others"
    ),
    "blink": (
        "AsyncTask Scheduled/Run, HTMLDocumentParser::ScanAndPreload and PumpTokenizer, "
        "YieldParserForScriptLoadAndBlockingResources, Document::write, PendingScript"
    ),
    "toplevel": "where in Chromium each task was posted: tells fetched bodies, messages, observers",
    "v8": "v8.run, v8.callFunction, v8.produceCache: script time outside EvaluateScript",
}
