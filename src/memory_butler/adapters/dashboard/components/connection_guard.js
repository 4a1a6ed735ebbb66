// While the server is away: a bar says so, and clicks that would be lost do nothing. What is typed into a search box is
// kept in the address, so that it is there again when the page reloads.
const REFOCUS_KEY = "memory-butler-refocus";
const STOPPED = ["click", "submit", "change"];

export default {
  template: `<div v-if="away" class="mb-away" :class="{ 'mb-away-insists': refused }" role="alert"><q-icon
    name="cloud_off" aria-hidden="true"></q-icon>Server not reachable. Nothing you do now is saved. Retrying…</div><span
    v-else hidden></span>`,
  data() {
    return { away: false, refused: false };
  },
  mounted() {
    this.attach = () => {
      if (!window.socket) {
        this.timer = setTimeout(this.attach, 50);
        return;
      }
      window.socket.on("disconnect", this.onLost);
      window.socket.on("connect", this.onBack);
    };
    this.attach();
    for (const name of STOPPED) document.addEventListener(name, this.stop, true);
    addEventListener("pagehide", this.rememberFocus);
    if (sessionStorage.getItem(REFOCUS_KEY)) {
      sessionStorage.removeItem(REFOCUS_KEY);
      setTimeout(() => document.querySelector("input[type=search]")?.focus());
    }
  },
  unmounted() {
    clearTimeout(this.timer);
    for (const name of STOPPED) document.removeEventListener(name, this.stop, true);
    removeEventListener("pagehide", this.rememberFocus);
    document.documentElement.classList.remove("mb-is-away");
  },
  methods: {
    onLost() {
      this.away = true;
      document.documentElement.classList.add("mb-is-away");
    },
    onBack() {
      this.away = false;
      this.refused = false;
      document.documentElement.classList.remove("mb-is-away");
    },
    stop(event) {
      if (!this.away || !event.target.closest?.("#content, .q-dialog, .q-notification")) return;
      event.preventDefault();
      event.stopPropagation();
      this.refused = true;
    },
    rememberFocus() {
      if (this.away && document.activeElement?.matches("input[type=search]")) sessionStorage.setItem(REFOCUS_KEY, "1");
    },
  },
};
