// Opens and closes the side bar on narrow screens.
export default {
  template: `<button type="button" class="mb-menu mb-side-button" aria-label="Menu" aria-controls="mb-nav"
    :aria-expanded="String(open)" @click="toggle"><q-icon :name="open ? 'close' : 'menu'"
    aria-hidden="true"></q-icon></button>`,
  data() {
    return { open: false };
  },
  mounted() {
    this.onKey = (event) => {
      if (event.key === "Escape" && this.open) this.toggle();
    };
    document.addEventListener("keydown", this.onKey);
  },
  unmounted() {
    document.removeEventListener("keydown", this.onKey);
  },
  methods: {
    toggle() {
      this.open = !this.open;
      document.querySelector(".mb-side").classList.toggle("mb-open", this.open);
    },
  },
};
