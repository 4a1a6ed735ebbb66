// The store as of the end of a day: a slider over all days, the counts of that day, and a search in it.
import { number, utcDay } from "/dashboard/dates.js";

const DAY_MS = 86400000;
const addDays = (first, days) => new Date(Date.parse(first) + days * DAY_MS).toISOString().slice(0, 10);

export default {
  props: {
    first: String,
    last: String,
    day: String,
    kinds: Array,
    changes: String,
    query: String,
    rows: Array,
    notes: Array,
    searched: Boolean,
    busy: Boolean,
  },
  emits: ["day", "search"],
  data() {
    return { index: this.indexOfDay(), text: this.query || "", isOpen: false };
  },
  watch: {
    day() {
      this.index = this.indexOfDay();
    },
    first() {
      this.index = this.indexOfDay();
    },
    query(query) {
      this.text = query || "";
    },
  },
  template: `
  <p v-if="isToday && !isOpen" class="mb-as-of mb-as-of-closed"><button type="button" class="mb-button-outline mb-small"
    @click="open">View as of an earlier day…</button></p>
  <section v-else class="mb-card mb-as-of" ref="panel" aria-label="View as of a day" :aria-busy="busy">
    <div class="mb-as-of-head">
      <h2>{{ isToday ? "Now" : "As of " + dayText }}</h2>
      <button v-if="!isToday" type="button" class="mb-button-outline mb-small"
        @click="go(maxIndex)">Back to now</button>
    </div>
    <div class="mb-as-of-slide">
      <button type="button" class="mb-button-outline" aria-label="Previous day" :disabled="index <= 0"
        @click="go(index - 1)">‹</button>
      <input type="range" min="0" :max="maxIndex" step="1" v-model.number="index" :disabled="!maxIndex"
        aria-label="Day" :aria-valuetext="dayText" @change="go(index)">
      <button type="button" class="mb-button-outline" aria-label="Next day" :disabled="index >= maxIndex"
        @click="go(index + 1)">›</button>
    </div>
    <p class="mb-muted mb-small mb-as-of-hint">{{ isToday
      ? "Move the slider to view the store as of the end of an earlier day (UTC)." : changes }}</p>
    <template v-if="!isToday">
      <ul class="mb-as-of-kinds" data-then>
        <li v-for="kind in kinds" :key="kind.name">
          <p class="mb-muted mb-small">{{ kind.label }}</p>
          <p class="mb-figure-count mb-number">{{ number(kind.then) }} <span class="mb-unit mb-muted">in use then, {{
            number(kind.now) }} now</span></p>
          <p class="mb-small mb-muted">{{ kind.states }}</p>
        </li>
      </ul>
      <form class="mb-line mb-as-of-search" role="search" @submit.prevent="$emit('search', text)">
        <input v-model="text" class="mb-input" type="search" maxlength="2000" dir="auto"
          aria-label="Search the store as of this day" placeholder="Search the store as of this day">
        <button type="submit" class="mb-button" :disabled="!text.trim() || busy">Search</button>
      </form>
      <p v-for="note in notes" :key="note" class="mb-note mb-note-warn mb-small">{{ note }}</p>
      <ol v-if="rows.length" class="mb-as-of-rows">
        <li v-for="row in rows" :key="row.ref">
          <a v-if="row.href" class="mb-chip" :class="'mb-chip-' + row.kind" :href="row.href">{{ row.ref }}</a><span
            v-else
            class="mb-chip">{{ row.ref }}</span>
          <span class="mb-text" dir="auto">{{ row.text }}</span>
          <span class="mb-chip" :class="'mb-chip-' + row.state">{{ row.state_label }}</span>
        </li>
      </ol>
      <p v-else-if="searched" class="mb-muted mb-small">No results as of this day.</p>
    </template>
  </section>`,
  computed: {
    maxIndex() {
      return Math.max(0, this.daysUntil(this.last));
    },
    isToday() {
      return !this.day;
    },
    dayText() {
      return this.first ? utcDay(addDays(this.first, this.index)) : "";
    },
  },
  methods: {
    // 0 until the first day is known.
    daysUntil(day) {
      return this.first ? Math.round((Date.parse(day) - Date.parse(this.first)) / DAY_MS) : 0;
    },
    indexOfDay() {
      return this.daysUntil(this.day || this.last);
    },
    number,
    open() {
      this.isOpen = true;
      this.$nextTick(() => this.$refs.panel.querySelector("input[type=range]").focus());
    },
    go(index) {
      this.index = index;
      this.$emit("day", index >= this.maxIndex ? "" : addDays(this.first, index));
    },
  },
};
