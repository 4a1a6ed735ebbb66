// Search box, filters and active filters. Users choose days in their time zone; the URL holds timestamps.
import { day } from "/dashboard/dates.js";

const DEBOUNCE_MS = 250;
const STORAGE_KEY = "memory-butler-filters";
const twoDigits = (number) => String(number).padStart(2, "0");
const isValid = (date) => !Number.isNaN(date.getTime());

// A timestamp as the value of a date input.
function toDay(timestamp) {
  const date = new Date(timestamp);
  return isValid(date) ? `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())}` : "";
}

export default {
  props: { fields: Array, sorts: Array, noun: String, query: Object, active: Array },
  emits: ["change", "add", "remove", "clear", "sort"],
  data() {
    const stored = localStorage.getItem(STORAGE_KEY);
    const open = stored ? stored === "open" : innerWidth >= 1100;
    return { typed: this.query?.q || "", open, timer: null };
  },
  watch: {
    query(query) {
      if (document.activeElement !== this.$refs.box || !this.timer) this.typed = query.q || "";
    },
  },
  template: `
  <section class="mb-filters" :class="'mb-filters-' + noun" role="search" :aria-label="'Search and filter ' + noun">
    <div class="mb-filters-top">
      <div class="mb-search"><q-icon name="search" aria-hidden="true"></q-icon>
        <input ref="box" type="search" v-model="typed" @input="searchLater" @keydown.enter="searchNow" maxlength="200"
          autocomplete="off" :placeholder="'Search ' + noun" :aria-label="'Search ' + noun"
          title="Finds memories that contain all words. Put a phrase in quotes for an exact match."></div>
      <label class="mb-sort mb-small"><span class="mb-muted">Sort</span>
        <select :value="value('sort') || 'created'" @change="$emit('sort', $event.target.value)" aria-label="Sort by">
          <option v-for="sort in sorts" :key="sort.name" :value="sort.name">{{ sort.label }}</option></select>
        <button type="button" class="mb-tool" :aria-label="isAscending ? 'Sort descending' : 'Sort ascending'"
          @click="$emit('sort', value('sort') || 'created')">
          <q-icon :name="isAscending ? 'arrow_upward' : 'arrow_downward'" aria-hidden="true"></q-icon></button></label>
      <button type="button" class="mb-tool mb-filters-toggle" :aria-expanded="String(open)"
        aria-controls="mb-filters-fields" @click="toggle">
        <q-icon name="tune" aria-hidden="true"></q-icon>Filters<span v-if="activeCount" class="mb-badge">{{ activeCount
        }}</span></button>
    </div>
    <div v-show="open" id="mb-filters-fields" class="mb-filters-fields">
      <label v-for="field in fields" :key="field.name" :class="'mb-field mb-field-' + field.name"><span>{{ field.label
        }}</span>
        <select v-if="field.form === 'choice'" :value="value(field.name)"
          @change="change(field.name, $event.target.value)"
          :class="{ 'mb-has-value': value(field.name) }">
          <option v-for="choice in field.choices" :key="choice.value" :value="choice.value">{{ choice.label }}</option>
          <option v-if="otherChoice(field)" :value="value(field.name)">{{ otherChoice(field) }}</option></select>
        <input v-else-if="field.form === 'day'" type="date" :value="day(field.name)"
          @change="changeDay(field.name, $event.target.value)" :class="{ 'mb-has-value': value(field.name) }">
        <input v-else-if="field.form === 'tag'" type="text" maxlength="64" placeholder="Add a tag"
          @change="addTag($event.target)" :class="{ 'mb-has-value': value(field.name) }">
        <input v-else type="text" maxlength="200" placeholder="Any" :value="value(field.name)"
          @change="change(field.name, $event.target.value)" :class="{ 'mb-has-value': value(field.name) }">
      </label>
    </div>
    <ul v-if="active && active.length" class="mb-active-filters" aria-label="Active filters">
      <li v-for="filter in active" :key="filter.name + filter.value"><button type="button" class="mb-chip mb-chip-drop"
        :aria-label="'Remove ' + filter.label + ': ' + text(filter)" @click="remove(filter)">
        <span class="mb-muted">{{ filter.label }}</span> <span dir="auto">{{ text(filter) }}</span><q-icon name="close"
        aria-hidden="true"></q-icon></button></li>
      <li><button type="button" class="mb-tool mb-small" @click="clear">Clear filters</button></li>
    </ul>
  </section>`,
  computed: {
    isAscending() {
      return this.value("order") === "asc";
    },
    activeCount() {
      return (this.active || []).filter((filter) => filter.name !== "q").length;
    },
  },
  beforeUnmount() {
    clearTimeout(this.timer);
  },
  methods: {
    value(name) {
      return this.query?.[name] || "";
    },
    searchLater() {
      clearTimeout(this.timer);
      this.timer = setTimeout(this.searchNow, DEBOUNCE_MS);
    },
    searchNow() {
      clearTimeout(this.timer);
      this.timer = null;
      if (this.typed.trim() !== this.value("q")) this.change("q", this.typed);
    },
    change(name, value) {
      this.$emit("change", { [name]: value });
    },
    changeDay(name, value) {
      if (!value) {
        this.change(name, "");
        return;
      }
      const [year, month, day] = value.split("-").map(Number);
      // "Until" includes the whole day.
      const date = new Date(year, month - 1, day + (name === "to" ? 1 : 0));
      if (isValid(date)) this.change(name, date.toISOString());
    },
    addTag(field) {
      const value = field.value.trim().replace(/^#+\s*/, "");
      field.value = "";
      if (value) this.$emit("add", "tag", value);
    },
    day(name) {
      const timestamp = this.value(name);
      if (!timestamp) return "";
      return toDay(name === "to" ? new Date(new Date(timestamp) - 1) : timestamp);
    },
    // The text for several values, which only a URL can choose; empty for invalid ones, which the page reports.
    otherChoice(field) {
      if (field.choices.some((choice) => choice.value === this.value(field.name))) return "";
      const filter = (this.active || []).find((candidate) => candidate.name === field.name);
      return filter && !filter.is_invalid ? filter.text : "";
    },
    text(filter) {
      if (filter.form !== "timestamp") return filter.text;
      const date = new Date(filter.name === "to" ? new Date(filter.value) - 1 : filter.value);
      return isValid(date) ? day(date) : filter.text;
    },
    remove(filter) {
      if (filter.name === "q") this.typed = "";
      this.$emit("remove", filter.name, filter.value);
      this.$refs.box.focus();
    },
    clear() {
      this.typed = "";
      this.$emit("clear");
      this.$refs.box.focus();
    },
    toggle() {
      this.open = !this.open;
      localStorage.setItem(STORAGE_KEY, this.open ? "open" : "closed");
    },
  },
};
