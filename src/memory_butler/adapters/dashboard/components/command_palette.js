// Ctrl-K or Cmd-K: go to a page, find a memory, or run a command. Also the keys that all pages have: / for the search,
// u to undo the last change, ? for the list of keys.
const DEBOUNCE_MS = 200;
const KEYS = [
  ["Ctrl K", "Go to a page or find a memory"],
  ["/", "Search"],
  ["j k", "Next and previous row"],
  ["Enter", "Open"],
  ["e", "Edit"],
  ["p", "Pin or unpin"],
  ["x", "Select"],
  ["Delete", "Forget"],
  ["u", "Undo the last change"],
  ["a r", "Approve, reject (Review)"],
  ["Esc", "Close"],
  ["?", "These keys"],
];

export default {
  props: { pages: Array, found: Array, asked: String },
  emits: ["search", "undo"],
  data() {
    return { mode: "", typed: "", index: 0, timer: null, keys: KEYS };
  },
  watch: {
    found() {
      this.index = 0;
    },
  },
  template: `
  <div v-if="mode" class="mb-palette-ground" @mousedown.self="close"><section class="mb-palette" role="dialog"
    aria-modal="true" :aria-label="mode === 'keys' ? 'Keys' : 'Go to'" @keydown="onPaletteKey">
    <template v-if="mode === 'keys'"><h2 tabindex="-1" ref="heading">Keys</h2><dl class="mb-palette-keys"><template
      v-for="key in keys" :key="key[0]"><dt><kbd v-for="part in key[0].split(' ')" :key="part">{{ part
      }}</kbd></dt><dd>{{ key[1] }}</dd></template></dl></template>
    <template v-else><input ref="input" v-model="typed" class="mb-palette-input" role="combobox" aria-expanded="true"
      aria-controls="mb-palette-list" :aria-activedescendant="'mb-palette-' + index" autocomplete="off" maxlength="200"
      aria-label="Page, memory or command" placeholder="Go to a page, or find a memory" @input="searchLater">
      <ul id="mb-palette-list" role="listbox" aria-label="Results"><li v-for="(entry, at) in entries" :key="entry.key"
        :id="'mb-palette-' + at" role="option" :aria-selected="String(at === index)" @mousemove="index = at"
        @click="run(entry)"><q-icon :name="entry.icon" aria-hidden="true"></q-icon><span class="mb-one-line"
        dir="auto">{{ entry.title }}</span><span class="mb-muted mb-small">{{ entry.note }}</span></li>
      </ul></template>
  </section></div><span v-else hidden></span>`,
  computed: {
    entries() {
      const words = this.typed.trim().toLowerCase();
      const pages = this.pages
        .filter((page) => !words || page.title.toLowerCase().includes(words))
        .map((page) => ({ ...page, key: page.href, note: "Page" }));
      const commands = [
        { key: "undo", title: "Undo the last change", icon: "undo", note: "u", work: () => this.$emit("undo") },
        { key: "keys", title: "Show all keys", icon: "keyboard", note: "?", work: () => this.open("keys") },
      ].filter((command) => !words || command.title.toLowerCase().includes(words));
      if (!words) return [...pages, ...commands];
      const all = { key: "all", title: this.typed.trim(), icon: "search", note: "Search all memories", words };
      const found = this.asked === this.typed.trim() ? this.found : [];
      return [...pages, ...commands, ...found.map((one) => ({ ...one, key: one.href })), all];
    },
  },
  mounted() {
    document.addEventListener("keydown", this.onKey);
  },
  unmounted() {
    clearTimeout(this.timer);
    document.removeEventListener("keydown", this.onKey);
  },
  methods: {
    onKey(event) {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        this.mode ? this.close() : this.open("go");
        return;
      }
      if (this.mode || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target.matches("input:not([type=checkbox]), textarea, select, [contenteditable]")) return;
      if (document.querySelector(".q-dialog")) return;
      const search = document.querySelector("main input[type=search]");
      if (event.key === "/") search ? search.focus() : this.open("go");
      else if (event.key === "?") this.open("keys");
      else if (event.key === "u") this.$emit("undo");
      else return;
      event.preventDefault();
    },
    open(mode) {
      if (!this.mode) this.before = document.activeElement;
      this.mode = mode;
      this.typed = "";
      this.index = 0;
      this.$nextTick(() => (this.$refs.input || this.$refs.heading)?.focus());
    },
    close() {
      this.mode = "";
      this.before?.focus?.();
    },
    onPaletteKey(event) {
      const last = this.entries.length - 1;
      if (event.key === "Escape") this.close();
      else if (event.key === "ArrowDown") this.index = Math.min(this.index + 1, last);
      else if (event.key === "ArrowUp") this.index = Math.max(this.index - 1, 0);
      else if (event.key === "Enter" && this.mode === "go") this.run(this.entries[this.index]);
      else if (event.key !== "Tab") return;
      event.preventDefault();
      event.stopPropagation();
    },
    searchLater() {
      this.index = 0;
      clearTimeout(this.timer);
      if (this.typed.trim()) this.timer = setTimeout(() => this.$emit("search", this.typed.trim()), DEBOUNCE_MS);
    },
    run(entry) {
      if (!entry) return;
      if (entry.work) {
        if (entry.key !== "keys") this.close();
        entry.work();
        return;
      }
      location.href = entry.href || `/memories?q=${encodeURIComponent(this.typed.trim())}`;
    },
  },
};
