// Merge a subject into another one.
export default {
  props: { label: String },
  emits: ["merge"],
  data() {
    return { typed: "" };
  },
  template: `
  <form class="mb-line mb-subject-merge" @submit.prevent="$emit('merge', typed.trim())"><input v-model="typed"
    class="mb-input" maxlength="200" required :aria-label="'Merge ' + label + ' into'"
    placeholder="Same as another subject?" dir="auto"><button type="submit" class="mb-button-small"
    :disabled="!typed.trim()">Merge…</button></form>`,
};
