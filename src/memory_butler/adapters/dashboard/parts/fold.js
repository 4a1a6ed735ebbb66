// A part of a page that can be folded: open where there is room, closed on a phone, where its title and what stands beside
// it say whether it is worth opening.
const NARROW = "(max-width: 640px)";

export default {
  props: { title: String, about: String, note: String, tone: String },
  data() { return { open: !matchMedia(NARROW).matches }; },
  template: `
  <section class="mb-card mb-fold">
    <details :open="open" @toggle="open = $event.target.open">
      <summary><h2>{{ title }}</h2><span v-if="note" class="mb-fold-note mb-small" :class="tone ? 'mb-chip mb-chip-' + tone : 'mb-muted'">{{ note }}</span><q-icon name="expand_more" class="mb-fold-mark" aria-hidden="true"></q-icon></summary>
      <p v-if="about" class="mb-muted mb-small mb-sys-about">{{ about }}</p>
      <slot></slot>
    </details>
  </section>`,
};
