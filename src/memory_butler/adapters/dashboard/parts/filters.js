// A search box, the filters that fit, and those that are set. Days are the viewer's own; the address has moments.
const WAIT = 250, KEPT = "memory-butler-filters";
const two = (number) => String(number).padStart(2, "0");
const dayOf = (at) => { const d = new Date(at); return isNaN(d) ? "" : `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`; };
const said = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

export default {
  props: { fields: Array, sorts: Array, noun: String, wanted: Object, chips: Array },
  emits: ["want", "add", "drop", "clear", "sort"],
  data() {
    const kept = localStorage.getItem(KEPT);
    return { typed: (this.wanted || {}).q || "", open: kept ? kept === "open" : innerWidth >= 1100, timer: null };
  },
  watch: { wanted(now) { if (document.activeElement !== this.$refs.box || !this.timer) this.typed = now.q || ""; } },
  template: `
  <section class="mb-filters" :class="'mb-filters-' + noun" role="search" :aria-label="'Search and filter ' + noun">
    <div class="mb-filters-top">
      <div class="mb-search"><q-icon name="search" aria-hidden="true"></q-icon>
        <input ref="box" type="search" v-model="typed" @input="later" @keydown.enter="now" maxlength="200" autocomplete="off"
          :placeholder="'Search ' + noun" :aria-label="'Search ' + noun" title="All of the words must be there; a phrase in quotes as it stands."></div>
      <label class="mb-sort mb-small"><span class="mb-muted">Sort</span>
        <select :value="(wanted || {}).sort || 'created'" @change="$emit('sort', $event.target.value)" aria-label="Sort by">
          <option v-for="one in sorts" :key="one.name" :value="one.name">{{ one.label }}</option></select>
        <button type="button" class="mb-tool" :aria-label="rising ? 'Rising; sort falling' : 'Falling; sort rising'" @click="$emit('sort', (wanted || {}).sort || 'created')">
          <q-icon :name="rising ? 'arrow_upward' : 'arrow_downward'" aria-hidden="true"></q-icon></button></label>
      <button type="button" class="mb-tool mb-filters-toggle" :aria-expanded="String(open)" aria-controls="mb-filters-fields" @click="toggle">
        <q-icon name="tune" aria-hidden="true"></q-icon>Filters<span v-if="set.length" class="mb-count">{{ set.length }}</span></button>
    </div>
    <div v-show="open" id="mb-filters-fields" class="mb-filters-fields">
      <label v-for="one in fields" :key="one.name" :class="'mb-field mb-field-' + one.name"><span>{{ one.label }}</span>
        <select v-if="one.form === 'choice'" :value="chosen(one)" @change="want(one.name, $event.target.value)" :class="{ 'mb-set': has(one.name) }">
          <option v-for="choice in one.choices" :key="choice.value" :value="choice.value">{{ choice.label }}</option>
          <option v-if="several(one)" :value="chosen(one)">{{ several(one) }}</option></select>
        <input v-else-if="one.form === 'day'" type="date" :value="day(one.name)" @change="wantDay(one.name, $event.target.value)" :class="{ 'mb-set': has(one.name) }">
        <input v-else-if="one.form === 'tag'" type="text" maxlength="64" placeholder="Add a tag" @change="addTag($event.target)" :class="{ 'mb-set': has(one.name) }">
        <input v-else type="text" maxlength="200" placeholder="Any" :value="(wanted || {})[one.name] || ''" @change="want(one.name, $event.target.value)" :class="{ 'mb-set': has(one.name) }">
      </label>
    </div>
    <ul v-if="chips && chips.length" class="mb-chosen" aria-label="Filters that are set">
      <li v-for="chip in chips" :key="chip.name + chip.value"><button type="button" class="mb-chip mb-chip-drop" :aria-label="'Remove ' + chip.label + ': ' + words(chip)" @click="drop(chip)">
        <span class="mb-muted">{{ chip.label }}</span> <span dir="auto">{{ words(chip) }}</span><q-icon name="close" aria-hidden="true"></q-icon></button></li>
      <li><button type="button" class="mb-tool mb-small" @click="clear">Clear filters</button></li>
    </ul>
  </section>`,
  computed: {
    rising() { return (this.wanted || {}).order === "asc"; },
    set() { return (this.chips || []).filter((chip) => chip.name !== "q"); },
  },
  beforeUnmount() { clearTimeout(this.timer); },
  methods: {
    later() { clearTimeout(this.timer); this.timer = setTimeout(this.now, WAIT); },
    now() { clearTimeout(this.timer); this.timer = null; if (this.typed.trim() !== ((this.wanted || {}).q || "")) this.want("q", this.typed); },
    want(name, value) { this.$emit("want", { [name]: value }); },
    wantDay(name, value) {
      if (!value) return this.want(name, "");
      const [year, month, day] = value.split("-").map(Number);
      // Until a day means until it is over.
      const at = new Date(year, month - 1, day + (name === "to" ? 1 : 0));
      if (!isNaN(at)) this.want(name, at.toISOString());
    },
    addTag(field) {
      const value = field.value.trim().replace(/^#+\s*/, ""); field.value = "";
      if (value) this.$emit("add", "tag", value);
    },
    day(name) { const at = (this.wanted || {})[name]; return at ? dayOf(name === "to" ? new Date(new Date(at) - 1) : at) : ""; },
    chosen(one) { return (this.wanted || {})[one.name] || ""; },
    // More than one can be chosen by an address; what there is not is complained about and stands in no box.
    several(one) {
      if (one.choices.some((choice) => choice.value === this.chosen(one))) return "";
      const chip = (this.chips || []).find((chip) => chip.name === one.name);
      return chip && !chip.is_strange ? chip.words : "";
    },
    has(name) { return Boolean((this.wanted || {})[name]); },
    words(chip) {
      const at = chip.form === "moment" ? new Date(chip.name === "to" ? new Date(chip.value) - 1 : chip.value) : null;
      return at && !isNaN(at) ? said.format(at) : chip.words;
    },
    drop(chip) { if (chip.name === "q") this.typed = ""; this.$emit("drop", chip.name, chip.value); this.$refs.box.focus(); },
    clear() { this.typed = ""; this.$emit("clear"); this.$refs.box.focus(); },
    toggle() { this.open = !this.open; localStorage.setItem(KEPT, this.open ? "open" : "closed"); },
  },
};
