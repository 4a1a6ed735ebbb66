// A day of the past: a slider over all days there are, what was remembered then, and what has changed since.
const DAY = 86400000;
const long = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeZone: "UTC" });
const count = new Intl.NumberFormat();
const iso = (first, days) => new Date(Date.parse(first) + days * DAY).toISOString().slice(0, 10);

export default {
  props: { first: String, last: String, day: String, kinds: Array, since: String, query: String, rows: Array, notes: Array, asked: Boolean, busy: Boolean },
  emits: ["day", "ask"],
  data() { return { at: this.placed(), words: this.query || "" }; },
  watch: { day() { this.at = this.placed(); }, first() { this.at = this.placed(); }, query(now) { this.words = now || ""; } },
  template: `
  <section class="mb-card mb-lookback" aria-label="Look back" :aria-busy="busy">
    <div class="mb-lookback-head">
      <h2>{{ today ? "As it is now" : "As it was on " + said }}</h2>
      <button v-if="!today" type="button" class="mb-plain mb-small" @click="go(reach)">Back to today</button>
    </div>
    <div class="mb-lookback-slide">
      <button type="button" class="mb-plain" aria-label="A day earlier" :disabled="at <= 0" @click="go(at - 1)">‹</button>
      <input type="range" min="0" :max="reach" step="1" v-model.number="at" :disabled="!reach" aria-label="Day to look back to" :aria-valuetext="said" @change="go(at)">
      <button type="button" class="mb-plain" aria-label="A day later" :disabled="at >= reach" @click="go(at + 1)">›</button>
    </div>
    <p class="mb-muted mb-small mb-lookback-hint">{{ today ? "Move the slider to see what was remembered at the end of any day (UTC)." : since }}</p>
    <template v-if="!today">
      <ul class="mb-lookback-kinds" data-then>
        <li v-for="kind in kinds" :key="kind.name">
          <p class="mb-muted mb-small">{{ kind.label }}</p>
          <p class="mb-figure-count mb-number">{{ number(kind.then) }} <span class="mb-unit mb-muted">in use then, {{ number(kind.now) }} now</span></p>
          <p class="mb-small mb-muted">{{ kind.states }}</p>
        </li>
      </ul>
      <form class="mb-line mb-lookback-ask" role="search" @submit.prevent="$emit('ask', words)">
        <input v-model="words" class="mb-input" type="search" maxlength="2000" dir="auto" aria-label="Search in what was remembered then" placeholder="Search in what was remembered then">
        <button type="submit" class="mb-button" :disabled="!words.trim() || busy">Search</button>
      </form>
      <p v-for="note in notes" :key="note" class="mb-note mb-note-warn mb-small">{{ note }}</p>
      <ol v-if="rows.length" class="mb-lookback-rows">
        <li v-for="row in rows" :key="row.ref">
          <a v-if="row.href" class="mb-chip" :class="'mb-chip-' + row.kind" :href="row.href">{{ row.ref }}</a><span v-else class="mb-chip">{{ row.ref }}</span>
          <span class="mb-words" dir="auto">{{ row.words }}</span>
          <span class="mb-chip" :class="'mb-chip-' + row.state">{{ row.became }}</span>
        </li>
      </ol>
      <p v-else-if="asked" class="mb-muted mb-small">Nothing that was remembered then answers this.</p>
    </template>
  </section>`,
  computed: {
    reach() { return Math.max(0, this.daysTo(this.last)); },
    today() { return !this.day; },
    said() { return this.first ? long.format(new Date(iso(this.first, this.at))) : ""; },
  },
  methods: {
    // Until it is known how far back there is something, there is one day.
    daysTo(day) { return this.first ? Math.round((Date.parse(day) - Date.parse(this.first)) / DAY) : 0; },
    placed() { return this.daysTo(this.day || this.last); },
    number(value) { return count.format(value); },
    go(place) { this.at = place; this.$emit("day", place >= this.reach ? "" : iso(this.first, place)); },
  },
};
