// Runs in every document of the structure pass before the page's own scripts. It tells, as TimeStamp
// events of the trace, what the trace itself leaves out: targets of events, who registers listeners,
// and events that code dispatches to objects outside the document.
(() => {
  'use strict';
  const tell = console.timeStamp.bind(console);
  const kind = (target) =>
    target === window || target === undefined ? 'Window'
    : target === document ? 'Document'
    : target instanceof HTMLScriptElement && !target.async ? 'Element ordered-script'
    : target instanceof Element ? `Element ${target.localName}`
    : Object.prototype.toString.call(target).slice(8, -1);
  const address = (target) => {
    if (!(target instanceof Element)) return '';
    const url = target.currentSrc || target.src || target.href || target.data || target.poster;
    if (typeof url === 'string') return url;
    return url && typeof url.baseVal === 'string' ? new URL(url.baseVal, document.baseURI).href : '';
  };
  const { addEventListener, dispatchEvent } = EventTarget.prototype;
  const watch = (node, type) =>
    addEventListener.call(node, type, ({ target }) => {
      tell(`loadpath:event ${type} ${kind(target)} ${address(target)}`);
    }, { capture: true });
  for (const type of ['load', 'error', 'readystatechange', 'DOMContentLoaded', 'message']) {
    watch(window, type);
  }
  // The capture path of an element's load event ends at its document.
  watch(document, 'load');

  EventTarget.prototype.addEventListener = function (type, ...rest) {
    tell(`loadpath:listen ${type} ${kind(this)} ${address(this)}`);
    return addEventListener.call(this, type, ...rest);
  };
  for (const name of ['onload', 'onerror']) {
    const { get, set } = Object.getOwnPropertyDescriptor(HTMLElement.prototype, name);
    Object.defineProperty(HTMLElement.prototype, name, {
      configurable: true,
      enumerable: true,
      get,
      set(listener) {
        tell(`loadpath:listen ${name.slice(2)} ${kind(this)} ${address(this)}`);
        set.call(this, listener);
      },
    });
  }
  EventTarget.prototype.dispatchEvent = function (event) {
    tell(`loadpath:dispatch ${event && event.type}`);
    try {
      return dispatchEvent.call(this, event);
    } finally {
      tell('loadpath:dispatched');
    }
  };
})();
//# sourceURL=loadpath:wrapper.js
