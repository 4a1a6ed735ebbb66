// What changed since the last visit of this browser. A visit ends when the page was away for half an hour.
import { ago } from "/dashboard/dates.js";

const KEY = "memory-butler-visit";
const PAUSE_MS = 1800000;

export default {
  props: { text: String },
  emits: ["since"],
  data() {
    return { since: "" };
  },
  template: `<p v-if="text && since" class="mb-visit"><b>Since your last visit</b> <span class="mb-muted">({{ ago(since)
    }})</span>: {{ text }} <a href="/timeline">Show</a></p><span v-else hidden></span>`,
  mounted() {
    const now = new Date();
    const { seen, since } = JSON.parse(localStorage.getItem(KEY) || "{}");
    this.since = seen && now - new Date(seen) > PAUSE_MS ? seen : since || "";
    this.store = () => localStorage.setItem(KEY, JSON.stringify({ seen: new Date().toISOString(), since: this.since }));
    this.store();
    addEventListener("pagehide", this.store);
    if (this.since) this.$emit("since", this.since);
  },
  unmounted() {
    removeEventListener("pagehide", this.store);
  },
  methods: {
    ago,
  },
};
