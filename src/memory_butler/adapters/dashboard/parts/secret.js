// A secret that is shown once. It is copied in the browser, and gone when the page lets go of it.
export default {
  props: { secret: String },
  data: () => ({ said: "" }),
  template: `
  <div class="mb-secret">
    <code ref="words" tabindex="0" aria-label="The token">{{ secret }}</code>
    <button type="button" class="mb-plain" @click="copy">Copy</button>
    <span class="mb-small mb-muted" role="status">{{ said }}</span>
  </div>`,
  methods: {
    async copy() {
      try {
        await navigator.clipboard.writeText(this.secret);
        this.said = "Copied.";
      } catch {
        // Not every browser lets a page without https do that.
        getSelection().selectAllChildren(this.$refs.words);
        this.said = "Selected: copy it with the keyboard.";
      }
    },
  },
};
