// Keeps the keyboard where it is when a part of the page is drawn anew because somebody else changed something: on what
// has taken the place of what it was on. Whoever does something meanwhile is left alone. What one types into is never
// drawn anew, so a caret needs no keeping.
const GIVEN_OUT = /^c\d+$/; // NiceGUI numbers what it draws, each time anew: such a number names nothing.
const PATIENCE_MS = 4000;
const SAYING = ["data-act", "data-key", "href", "aria-label", "name"];

function around(element) {
  const found = [];
  for (let one = element.parentElement; one; one = one.parentElement) {
    if (one.dataset.key) found.push(one.dataset.key);
    else if (one.id && !GIVEN_OUT.test(one.id)) found.push(one.id);
  }
  return found;
}

function signature(element) {
  const said = SAYING.map((name) => element.getAttribute(name) || "");
  return JSON.stringify([element.tagName, ...said, said.some(Boolean) ? "" : element.textContent, around(element)]);
}

const reachable = (one) => one.tabIndex >= 0 || one.hasAttribute("tabindex");
const alike = (tag, sign) =>
  [...document.getElementsByTagName(tag)].filter((one) => reachable(one) && signature(one) === sign);

export default {
  template: `<span hidden></span>`,
  mounted() {
    this.last = null;
    this.heard = [["focusin", this.note], ["focusout", this.leave], ["pointerdown", this.move], ["keydown", this.move]];
    for (const [name, work] of this.heard) document.addEventListener(name, work, true);
    this.watch = new MutationObserver(this.follow);
    this.watch.observe(document.body, { childList: true, subtree: true });
  },
  unmounted() {
    for (const [name, work] of this.heard) document.removeEventListener(name, work, true);
    this.watch.disconnect();
  },
  methods: {
    note({ target }) {
      // A dialog and the bar say themselves where the keyboard goes on.
      if (!target.closest?.("#content") || target.closest(".q-dialog, .q-notification")) { this.last = null; return; }
      const sign = signature(target);
      this.last = { target, sign, place: alike(target.tagName, sign).indexOf(target), gone: false };
    },
    leave({ target }) {
      if (this.last?.target !== target) return;
      setTimeout(() => {
        if (this.last?.target === target && target.isConnected && document.activeElement !== target) this.last = null;
      });
    },
    move() { if (this.last && !this.last.target.isConnected) this.last = null; },
    follow() {
      const last = this.last;
      if (!last || last.target.isConnected) return;
      const now = document.activeElement;
      if (now && now !== document.body) { this.last = null; return; }
      const found = alike(last.target.tagName, last.sign);
      const to = found[Math.min(last.place, found.length - 1)];
      if (to) {
        to.focus({ preventScroll: true });
      } else if (!last.gone) {
        last.gone = true;
        setTimeout(() => { if (this.last === last) this.last = null; }, PATIENCE_MS);
      }
    },
  },
};
