// Rows of memories: a table where there is room, else cards. Rows that come by themselves move nothing under the mouse.
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const UNITS = [["year", 31557600], ["month", 2629800], ["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60]];
const WAIT = 120;

export default {
  props: {
    columns: Array, noun: String, actions: Object, rows: Array, how: String, version: Number, place: String, sort: String,
    descending: Boolean, has_back: Boolean, has_more: Boolean, empty: String, problem: Object, steady: Boolean,
  },
  emits: ["sort", "turn", "add", "act", "clear"],
  data() { return { shown: this.rows || [], held: null, spot: this.place, waiting: false, slow: false, timer: null, inside: false }; },
  watch: {
    version() {
      this.settle();
      if (this.how === "same") return;
      const rows = this.rows || [], before = this.shown;
      const moves = rows.length !== before.length || rows.some((row, at) => row.id !== before[at].id);
      if (this.how === "live" && moves && before.length && (this.steady || this.inside || this.$el.contains(document.activeElement))) {
        const known = new Map(rows.map((row) => [row.id, row]));
        this.shown = before.map((row) => known.get(row.id) || row);
        this.held = rows;
        return;
      }
      this.shown = rows; this.held = null; this.spot = this.place;
    },
  },
  template: `
  <div class="mb-list" :aria-busy="String(waiting)" :class="['mb-list-' + noun, slow ? 'mb-slow' : '']" @mouseenter="inside = true" @mouseleave="left">
    <div class="mb-list-head">
      <span class="mb-muted mb-number mb-small" role="status">{{ spot }}</span>
      <button v-if="held" type="button" class="mb-news" @click="adopt"><q-icon name="sync" aria-hidden="true"></q-icon>Something new: show</button>
    </div>
    <div v-if="problem" class="mb-card mb-trouble" role="alert"><h2>{{ problem.message }}</h2><p v-if="problem.recovery">{{ problem.recovery }}</p>
      <p><button type="button" class="mb-plain" @click="ask('clear')">Clear filters</button></p></div>
    <div v-else-if="shown.length" class="mb-card mb-memories">
      <table :class="{ 'mb-other-time': sort === 'observed' || sort === 'last_referenced' }">
        <thead><tr><th class="mb-c-words" scope="col">{{ title }}</th>
          <th v-for="column in columns" :key="column.name" scope="col" :class="['mb-c-' + column.name, column.sort && column.sort === sort ? 'mb-sorted' : '']" :aria-sort="column.sort && column.sort === sort ? (descending ? 'descending' : 'ascending') : null">
            <button v-if="column.sort" type="button" @click="ask('sort', column.sort)">{{ column.label }}<q-icon v-if="column.sort === sort" :name="descending ? 'arrow_downward' : 'arrow_upward'" aria-hidden="true"></q-icon></button>
            <template v-else>{{ column.label }}</template></th>
          <th v-if="acting" class="mb-c-acts" scope="col"><span class="mb-unseen">Actions</span></th></tr></thead>
        <tbody>
          <tr v-for="(row, at) in shown" :key="at" :class="{ 'mb-out': row.is_out, 'mb-changed': row.is_changed }" :data-ref="row.ref">
            <td class="mb-c-words">
              <a :href="row.href" class="mb-row-words" dir="auto">{{ row.words }}</a>
              <div class="mb-row-more">
                <span v-if="row.about" class="mb-row-about"><template v-for="(one, n) in row.about" :key="one.name"><span v-if="n" aria-hidden="true"> · </span><button type="button" class="mb-link" dir="auto" :title="'Only this ' + one.name" @click="ask('add', one.name, one.value)">{{ one.text }}</button></template></span>
                <template v-for="chip in row.chips" :key="chip.text"><a v-if="chip.href" :href="chip.href" :class="['mb-chip', 'mb-chip-' + chip.kind]" :title="chip.title">{{ chip.text }}</a><span v-else :class="['mb-chip', chip.kind ? 'mb-chip-' + chip.kind : '']" :title="chip.title">{{ chip.text }}</span></template>
                <button type="button" class="mb-chip mb-chip-owner" dir="auto" :title="row.by ? 'Only this scope; learned by ' + row.by : 'Only this butler'" @click="ask('add', row.owner.name, row.owner.value)"><q-icon :name="row.owner.name === 'scope' ? 'visibility' : 'person'" aria-hidden="true"></q-icon>{{ row.owner.text }}</button>
                <button v-for="tag in row.tags" :key="tag.value" type="button" class="mb-chip mb-chip-tag" dir="auto" title="Only with this tag" @click="ask('add', 'tag', tag.value)">#{{ tag.text }}</button>
                <span v-if="row.more_tags" class="mb-muted mb-small">+{{ row.more_tags }}</span>
              </div></td>
            <td v-for="column in columns" :key="column.name" :class="['mb-c-' + column.name, column.sort && column.sort === sort ? 'mb-sorted' : '']">
              <template v-if="column.name === 'confidence'"><span class="mb-sure" role="img" :aria-label="row.confidence + ' percent'"><span :style="{ width: row.confidence + '%' }" :class="{ 'mb-low': row.is_low }"></span></span><span class="mb-number mb-small" aria-hidden="true">{{ row.confidence }}%</span></template>
              <span v-else-if="column.name === 'importance'" class="mb-number">{{ row.importance }}</span>
              <span v-else-if="column.name === 'record'" class="mb-number mb-record"><span title="Helped"><q-icon name="thumb_up" aria-hidden="true"></q-icon>{{ row.helped }}</span><span title="Harmed" :class="{ 'mb-harm': row.harmed }"><q-icon name="thumb_down" aria-hidden="true"></q-icon>{{ row.harmed }}</span></span>
              <time v-else-if="row[column.name]" :datetime="row[column.name]" :title="exactly(row[column.name])" class="mb-time">{{ ago(row[column.name]) }}</time>
              <span v-else class="mb-muted">never</span></td>
            <td v-if="acting" class="mb-c-acts"><div><button v-for="name in row.actions" :key="name" type="button" class="mb-act" :data-act="name" :aria-label="actions[name].label + ': ' + row.words.slice(0, 60)" :title="actions[name].label" @click="$event.detail > 1 || $emit('act', name, row.id)"><q-icon :name="actions[name].icon" aria-hidden="true"></q-icon></button></div></td>
          </tr>
        </tbody>
      </table>
    </div>
    <div v-else-if="empty === 'idle'" class="mb-card mb-empty"><h2>No {{ noun }} in use</h2><p>All there were have been forgotten, replaced, or have faded away.</p>
      <p><button type="button" class="mb-plain" @click="ask('add', 'validity', 'all')">Show everything</button></p></div>
    <div v-else-if="empty === 'filtered'" class="mb-card mb-empty"><h2>No {{ noun }} fit</h2><p>Nothing matches what you are looking for.</p>
      <p><button type="button" class="mb-plain" @click="ask('clear')">Clear filters</button></p></div>
    <nav v-if="has_back || has_more" class="mb-pager" :aria-label="'Pages of ' + noun">
      <button type="button" class="mb-tool" :disabled="!has_back" @click="turn('back')"><q-icon name="arrow_back" aria-hidden="true"></q-icon>Previous</button>
      <span class="mb-muted mb-number mb-small">{{ spot }}</span>
      <button type="button" class="mb-tool" :disabled="!has_more" @click="turn('on')">Next<q-icon name="arrow_forward" aria-hidden="true"></q-icon></button>
    </nav>
  </div>`,
  computed: {
    acting() { return this.shown.some((row) => row.actions.length); },
    title() { return this.noun.charAt(0).toUpperCase() + this.noun.slice(1, -1); },
  },
  beforeUnmount() { clearTimeout(this.timer); },
  methods: {
    exactly(at) { return exact.format(new Date(at)); },
    ago(at) {
      const seconds = (new Date(at) - Date.now()) / 1000;
      for (const [unit, length] of UNITS) if (Math.abs(seconds) >= length) return relative.format(Math.trunc(seconds / length), unit);
      return "just now";
    },
    wait() { this.waiting = true; clearTimeout(this.timer); this.timer = setTimeout(() => { this.slow = this.waiting; }, WAIT); },
    ask(name, ...values) { this.wait(); this.$emit(name, ...values); },
    settle() { this.waiting = false; this.slow = false; clearTimeout(this.timer); },
    turn(where) { this.ask("turn", where); scrollTo({ top: 0 }); },
    adopt() { this.shown = this.held; this.held = null; this.spot = this.place; },
    left() { this.inside = false; if (this.held && !this.steady && !this.$el.contains(document.activeElement)) this.adopt(); },
    replace(id, row) {
      const put = (rows) => rows && rows.map((one) => (one.id === id ? row : one));
      this.shown = put(this.shown); this.held = put(this.held);
    },
  },
};
