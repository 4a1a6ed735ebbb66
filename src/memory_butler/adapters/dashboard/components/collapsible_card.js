// A collapsible card: open on wide screens, closed on a phone, where the note beside the title shows its status.
const NARROW = "(max-width: 640px)";

export default {
  props: { title: String, description: String, note: String, tone: String },
  data() {
    return { open: !matchMedia(NARROW).matches };
  },
  template: `
  <section class="mb-card mb-collapsible">
    <details :open="open" @toggle="open = $event.target.open">
      <summary><h2>{{ title }}</h2><span v-if="note" class="mb-collapsible-note mb-small"
        :class="tone ? 'mb-chip mb-chip-' + tone : 'mb-muted'">{{ note }}</span><q-icon name="expand_more"
        class="mb-collapsible-icon" aria-hidden="true"></q-icon></summary>
      <p v-if="description" class="mb-muted mb-small mb-sys-description">{{ description }}</p>
      <slot></slot>
    </details>
  </section>`,
};
