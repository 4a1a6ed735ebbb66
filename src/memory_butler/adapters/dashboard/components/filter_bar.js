// Search box, types, saved views, filters and active filters. Users choose days in their time zone; the URL holds
// timestamps. What is typed while the server is away is kept in the address.
import { day, number } from "/dashboard/dates.js";

const DEBOUNCE_MS = 250;
const STORAGE_KEY = "memory-butler-filters";
const VIEWS_KEY = "memory-butler-views";
const twoDigits = (number) => String(number).padStart(2, "0");
const isValid = (date) => !Number.isNaN(date.getTime());

// A timestamp as the value of a date input.
function toDay(timestamp) {
  const date = new Date(timestamp);
  return isValid(date) ? `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())}` : "";
}

function ownViews() {
  try {
    return JSON.parse(localStorage.getItem(VIEWS_KEY)) || [];
  } catch {
    return [];
  }
}

const sameQuery = (one, other) => {
  const plain = ({ open, cursor, ...rest }) => JSON.stringify(Object.entries(rest).sort());
  return plain(one) === plain(other);
};

export default {
  props: {
    fields: Array,
    sorts: Array,
    noun: String,
    query: Object,
    active: Array,
    types: Array,
    views: Array,
    can_create: Boolean,
  },
  emits: ["change", "add", "remove", "clear", "sort", "view", "create", "suggest"],
  data() {
    const open = localStorage.getItem(STORAGE_KEY) === "open";
    return {
      typed: this.query?.q || "",
      open,
      timer: null,
      own: ownViews(),
      naming: false,
      name: "",
      values: {},
      drafts: {},
    };
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
          autocomplete="off" :placeholder="'Search ' + noun + ' by meaning or words'" :aria-label="'Search ' + noun"
          title="Finds memories by meaning and by words. Put a phrase in quotes for an exact match."></div>
      <label class="mb-sort mb-small"><span class="mb-muted">Sort</span>
        <select :value="value('sort') || sorts[0].name" @change="$emit('sort', $event.target.value)"
          aria-label="Sort by">
          <option v-for="sort in sorts" :key="sort.name" :value="sort.name">{{ sort.label }}</option></select>
        <button v-if="isOrdered" type="button" class="mb-tool"
          :aria-label="isAscending ? 'Sort descending' : 'Sort ascending'"
          @click="$emit('sort', value('sort') || sorts[0].name)">
          <q-icon :name="isAscending ? 'arrow_upward' : 'arrow_downward'" aria-hidden="true"></q-icon></button></label>
      <button type="button" class="mb-tool mb-filters-toggle" :aria-expanded="String(open)"
        aria-controls="mb-filters-fields" @click="toggle">
        <q-icon name="tune" aria-hidden="true"></q-icon>Filters<span v-if="activeCount" class="mb-badge">{{ activeCount
        }}</span></button>
      <button v-if="can_create" type="button" class="mb-button mb-remember" @click="$emit('create')"><q-icon name="add"
        aria-hidden="true"></q-icon>Remember</button>
    </div>
    <div class="mb-views">
      <nav class="mb-types" aria-label="Types"><a v-for="type in types" :key="type.name" :href="type.href"
        :aria-current="type.current ? 'page' : null" :class="'mb-type-tab mb-type-tab-' + type.name">{{ type.label
        }} <span class="mb-number mb-muted">{{ type.count }}</span></a></nav>
      <ul class="mb-saved" aria-label="Saved views">
        <li v-for="view in allViews" :key="view.name"><button type="button" class="mb-view" dir="auto"
          :aria-pressed="String(isCurrent(view))" @click="$emit('view', view.query)">{{ view.name }}</button><button
          v-if="view.own" type="button" class="mb-tool mb-view-drop" :aria-label="'Delete the view ' + view.name"
          @click="dropView(view)"><q-icon name="close" aria-hidden="true"></q-icon></button></li>
        <li v-if="canSave && !naming"><button type="button" class="mb-tool mb-small" @click="startNaming"><q-icon
          name="bookmark_add" aria-hidden="true"></q-icon>Save view</button></li>
        <li v-if="naming"><form class="mb-line" @submit.prevent="saveView"><input ref="name" v-model="name"
          class="mb-view-name" maxlength="40" required placeholder="Name of the view" aria-label="Name of the view"
          @keydown.esc="naming = false"><button type="submit" class="mb-tool">Save</button></form></li>
      </ul>
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
          :value="drafts[field.name] ?? ''"
          :list="'mb-values-' + field.name" @focus="suggest(field, '')"
          @input="suggest(field, $event.target.value)"
          @change="addTag($event.target)" :class="{ 'mb-has-value': value(field.name) }">
        <input v-else type="text" maxlength="200" placeholder="Any" :value="drafts[field.name] ?? value(field.name)"
          :list="'mb-values-' + field.name" @focus="suggest(field, '')"
          @input="suggest(field, $event.target.value)"
          @change="commit(field.name, $event.target.value)" :class="{ 'mb-has-value': value(field.name) }">
        <datalist v-if="values[field.name]" :id="'mb-values-' + field.name"><option
          v-for="one in values[field.name]" :key="one.value" :value="one.value">{{ number(one.count)
          }}</option></datalist>
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
    isOrdered() {
      return (this.value("sort") || this.sorts[0].name) !== "best";
    },
    allViews() {
      return [...(this.views || []), ...this.own.filter((view) => view.noun === this.noun)];
    },
    canSave() {
      return Boolean(this.active?.length) && !this.allViews.some((view) => this.isCurrent(view));
    },
    activeCount() {
      return (this.active || []).filter((filter) => filter.name !== "q").length;
    },
  },
  beforeUnmount() {
    clearTimeout(this.timer);
  },
  methods: {
    number,
    isCurrent(view) {
      return sameQuery(view.query, this.query || {});
    },
    startNaming() {
      this.naming = true;
      this.name = "";
      this.$nextTick(() => this.$refs.name.focus());
    },
    saveView() {
      const { open, cursor, ...query } = this.query;
      const kept = this.own.filter((view) => view.name !== this.name.trim());
      this.own = [...kept, { name: this.name.trim(), noun: this.noun, query, own: true }];
      localStorage.setItem(VIEWS_KEY, JSON.stringify(this.own));
      this.naming = false;
    },
    dropView(view) {
      this.own = this.own.filter((other) => other !== view);
      localStorage.setItem(VIEWS_KEY, JSON.stringify(this.own));
    },
    // What is typed stays when suggestions redraw the field.
    commit(name, value) {
      delete this.drafts[name];
      this.change(name, value);
    },
    suggest(field, text) {
      if (text) this.drafts[field.name] = text;
      clearTimeout(this.suggestTimer);
      this.suggestTimer = setTimeout(() => this.$emit("suggest", field.name, text), text ? DEBOUNCE_MS : 0);
    },
    showValues(name, values) {
      this.values = { ...this.values, [name]: values };
    },
    focusSearch() {
      this.$refs.box.focus();
      this.$refs.box.select();
    },
    value(name) {
      return this.query?.[name] || "";
    },
    searchLater() {
      clearTimeout(this.timer);
      if (document.documentElement.classList.contains("mb-is-away")) {
        const address = new URL(location.href);
        address.searchParams.set("q", this.typed);
        history.replaceState(history.state, "", address);
        return;
      }
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
      delete this.drafts.tag;
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
