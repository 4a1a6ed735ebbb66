// The theme: the system's, light or dark. The choice is restored before the page is drawn (server/nicegui_setup.py).
const STORAGE_KEY = "memory-butler-dark";
const NEXT = { system: "light", light: "dark", dark: "system" };
const ICONS = { system: "brightness_auto", light: "light_mode", dark: "dark_mode" };

export default {
  template: `<button type="button" class="mb-side-button" :aria-label="label" :title="label"
    @click="switchTheme"><q-icon :name="icon" aria-hidden="true"></q-icon></button>`,
  data() {
    return { theme: localStorage.getItem(STORAGE_KEY) || "system" };
  },
  computed: {
    label() {
      return `Theme: ${this.theme}. Switch to ${NEXT[this.theme] || "system"}`;
    },
    icon() {
      return ICONS[this.theme] || ICONS.system;
    },
  },
  methods: {
    switchTheme() {
      this.theme = NEXT[this.theme] || "system";
      if (this.theme === "system") localStorage.removeItem(STORAGE_KEY);
      else localStorage.setItem(STORAGE_KEY, this.theme);
      setDark(this.theme === "system" ? null : this.theme === "dark");
    },
  },
};
