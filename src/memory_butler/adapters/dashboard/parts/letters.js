// Episodes that consolidation gave up: what they say, why, and another chance.
const short = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

export default {
  props: { rows: Array, next: String, later: Boolean, may: Boolean, busy: Boolean },
  emits: ["requeue", "turn"],
  template: `
  <div>
    <p v-if="!rows.length" class="mb-muted mb-nothing">No episode was given up. One that fails again and again would be kept here, with the reason.</p>
    <ul v-else class="mb-letters"><li v-for="row in rows" :key="row.ref">
      <div class="mb-found-head"><a :href="row.href" class="mb-chip mb-chip-episode">{{ row.ref }}</a>
        <span class="mb-muted mb-small" dir="auto">{{ row.butler }} · <time :datetime="row.at" :title="exact(row.at)">{{ short(row.at) }}</time> · given up after {{ row.tries }}</span>
        <button v-if="may" type="button" class="mb-quiet mb-result-score" :disabled="busy" :aria-label="'Try ' + row.ref + ' again'" @click="$emit('requeue', [row.ref])">Try again</button></div>
      <p class="mb-words mb-clamp" dir="auto">{{ row.words }}</p>
      <p class="mb-no mb-small" dir="auto">{{ row.why }}</p>
    </li></ul>
    <div v-if="later || next || (may && rows.length > 1)" class="mb-line mb-turn">
      <button v-if="may && rows.length > 1" type="button" class="mb-quiet" :disabled="busy" @click="$emit('requeue', rows.map((row) => row.ref))">Try all {{ rows.length }} again</button>
      <span class="mb-grow"></span>
      <button v-if="later" type="button" class="mb-quiet" @click="$emit('turn', '')">Oldest</button>
      <button v-if="next" type="button" class="mb-quiet" @click="$emit('turn', next)">More</button></div>
  </div>`,
  methods: { short(at) { return short.format(new Date(at)); }, exact(at) { return exact.format(new Date(at)); } },
};
