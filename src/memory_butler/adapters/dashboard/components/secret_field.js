// A secret that is shown once, with a copy button.
export default {
  props: { secret: String },
  data: () => ({ status: "" }),
  template: `
  <div class="mb-secret">
    <code ref="code" tabindex="0" aria-label="Token">{{ secret }}</code>
    <button type="button" class="mb-button-outline" @click="copy">Copy</button>
    <span class="mb-small mb-muted" role="status">{{ status }}</span>
  </div>`,
  methods: {
    async copy() {
      try {
        await navigator.clipboard.writeText(this.secret);
        this.status = "Copied.";
      } catch {
        // Not every browser allows this without https.
        getSelection().selectAllChildren(this.$refs.code);
        this.status = "Selected. Press Ctrl+C to copy.";
      }
    },
  },
};
