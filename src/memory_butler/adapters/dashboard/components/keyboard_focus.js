// Moves the focus after an action has redrawn the element that had it. A closing dialog or notification keeps the focus
// until it has disappeared, so this waits for it; if the user presses a key or clicks meanwhile, the focus stays.
const RETRY_MS = 50;
const MAX_RETRIES = 80;

export default {
  template: "<span hidden></span>",
  methods: {
    focusFirst(selectors) {
      let retries = MAX_RETRIES;
      const cancel = () => {
        retries = -1;
      };
      for (const name of ["pointerdown", "keydown"]) addEventListener(name, cancel, { once: true, capture: true });
      const attempt = () => {
        if (retries < 0) return;
        const focused = document.activeElement;
        const closing = document.querySelector(".q-dialog") || focused?.closest(".q-notification");
        if (closing && retries-- > 0) {
          setTimeout(attempt, RETRY_MS);
          return;
        }
        if (focused && focused !== document.body && !closing) return;
        const target = selectors.map((selector) => document.querySelector(selector)).find(Boolean);
        target?.focus({ preventScroll: true });
      };
      setTimeout(attempt);
    },
  },
};
