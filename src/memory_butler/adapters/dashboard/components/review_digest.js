// The first entries of the inbox, decided on in place.
export default {
  props: { rows: Array, count: Number },
  emits: ["decide"],
  data() {
    return { busy: "" };
  },
  watch: {
    rows() {
      this.busy = "";
    },
  },
  template: `
  <ul class="mb-digest">
    <li v-for="row in rows" :key="row.key" :data-entry="row.key">
      <p class="mb-text mb-digest-said"><a :href="row.href" dir="auto">{{ row.said }}</a></p>
      <p v-if="row.why" class="mb-muted mb-small mb-one-line" dir="auto">{{ row.why }}</p>
      <div class="mb-line">
        <button type="button" class="mb-button-small" :disabled="busy === row.key" :aria-label="'Approve: ' + row.said"
          @click="decide(row, 'approve')">Approve</button>
        <button type="button" class="mb-button-small mb-button-danger" :disabled="busy === row.key"
          :aria-label="'Reject: ' + row.said" @click="decide(row, 'reject')">Reject</button>
      </div>
    </li>
  </ul>
  <a v-if="count > rows.length" href="/review" class="mb-small">All {{ count }} in the inbox</a>
  <a v-else href="/review" class="mb-small">Open the inbox</a>`,
  methods: {
    decide(row, decision) {
      this.busy = row.key;
      this.$emit("decide", row.key, decision, row.text);
    },
  },
};
