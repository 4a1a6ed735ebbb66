// Keeps the focus in place when a live update redraws the focused element: it focuses the element's successor. If the
// user presses a key or clicks meanwhile, it does nothing. Text inputs are never redrawn, so carets need no care.
const NICEGUI_ID = /^c\d+$/; // NiceGUI numbers elements anew with each redraw.
const TIMEOUT_MS = 4000;
const IDENTIFYING = ["data-act", "data-key", "href", "aria-label", "name"];

function ancestors(element) {
  const ids = [];
  for (let parent = element.parentElement; parent; parent = parent.parentElement) {
    if (parent.dataset.key) ids.push(parent.dataset.key);
    else if (parent.id && !NICEGUI_ID.test(parent.id)) ids.push(parent.id);
  }
  return ids;
}

function signature(element) {
  const values = IDENTIFYING.map((name) => element.getAttribute(name) || "");
  const text = values.some(Boolean) ? "" : element.textContent;
  return JSON.stringify([element.tagName, ...values, text, ancestors(element)]);
}

const isFocusable = (element) => element.tabIndex >= 0 || element.hasAttribute("tabindex");
const findAll = (tag, wanted) =>
  [...document.getElementsByTagName(tag)].filter((element) => isFocusable(element) && signature(element) === wanted);

export default {
  template: "<span hidden></span>",
  mounted() {
    this.last = null;
    this.listeners = [
      ["focusin", this.onFocusIn],
      ["focusout", this.onFocusOut],
      ["pointerdown", this.onInput],
      ["keydown", this.onInput],
    ];
    for (const [name, listener] of this.listeners) document.addEventListener(name, listener, true);
    this.observer = new MutationObserver(this.onMutation);
    this.observer.observe(document.body, { childList: true, subtree: true });
  },
  unmounted() {
    for (const [name, listener] of this.listeners) document.removeEventListener(name, listener, true);
    this.observer.disconnect();
  },
  methods: {
    onFocusIn({ target }) {
      // Dialogs and notifications manage the focus themselves.
      if (!target.closest?.("#content") || target.closest(".q-dialog, .q-notification")) {
        this.last = null;
        return;
      }
      const wanted = signature(target);
      const index = findAll(target.tagName, wanted).indexOf(target);
      this.last = { target, signature: wanted, index, isExpiring: false };
    },
    onFocusOut({ target }) {
      if (this.last?.target !== target) return;
      setTimeout(() => {
        if (this.last?.target === target && target.isConnected && document.activeElement !== target) this.last = null;
      });
    },
    onInput() {
      if (this.last && !this.last.target.isConnected) this.last = null;
    },
    onMutation() {
      const last = this.last;
      if (!last || last.target.isConnected) return;
      const focused = document.activeElement;
      if (focused && focused !== document.body) {
        this.last = null;
        return;
      }
      const candidates = findAll(last.target.tagName, last.signature);
      const successor = candidates[Math.min(last.index, candidates.length - 1)];
      if (successor) {
        successor.focus({ preventScroll: true });
      } else if (!last.isExpiring) {
        last.isExpiring = true;
        setTimeout(() => {
          if (this.last === last) this.last = null;
        }, TIMEOUT_MS);
      }
    },
  },
};
