// Rows of memories: a table on wide screens, cards on narrow ones. Live updates never move rows under the mouse.
// j and k move through the rows, Enter opens one, e edits, p pins, x selects, Delete forgets.
import { ago, exact } from "/dashboard/dates.js";

const SLOW_MS = 120;
const PHONE_PIXELS = 860;
const COLUMNS_KEY = "memory-butler-columns-";
const TYPE_ICONS = { fact: "fact_check", rule: "gavel", episode: "forum" };
const BULK = ["confirm", "pin", "unpin", "tag", "scope", "subject", "forget"];
const BULK_WORDS = {
  tag: ["Tag", "sell"],
  scope: ["Move to scope", "visibility"],
  subject: ["Move to subject", "drive_file_move"],
};

function stored(key, fallback) {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? fallback;
  } catch {
    return fallback;
  }
}

export default {
  props: {
    columns: Array,
    noun: String,
    actions: Object,
    bulk: Array,
    rows: Array,
    mode: String,
    version: Number,
    position: String,
    note: String,
    sort: String,
    descending: Boolean,
    has_previous: Boolean,
    has_next: Boolean,
    empty: String,
    problem: Object,
    hold_updates: Boolean,
    opened: String,
  },
  emits: ["sort", "page", "add", "action", "clear", "open", "edit", "bulk", "export"],
  data() {
    return {
      shown: this.rows || [],
      pending: null,
      shownPosition: this.position,
      isLoading: false,
      isSlow: false,
      timer: null,
      isHovered: false,
      active: 0,
      selected: [],
      lastSelected: null,
      hidden: stored(COLUMNS_KEY + this.noun, null),
      asked: "",
      value: "",
    };
  },
  watch: {
    version() {
      this.stopLoading();
      if (this.mode === "unchanged") return;
      const rows = this.rows || [];
      const before = this.shown;
      const moves = rows.length !== before.length || rows.some((row, index) => row.id !== before[index].id);
      if (this.mode === "live" && moves && before.length && (this.hold_updates || this.isHovered || this.hasFocus())) {
        const byId = new Map(rows.map((row) => [row.id, row]));
        this.shown = before.map((row) => byId.get(row.id) || row);
        this.pending = rows;
        return;
      }
      this.show(rows);
      this.pending = null;
      this.shownPosition = this.position;
    },
  },
  template: `
  <div class="mb-list" :aria-busy="String(isLoading)" :class="['mb-list-' + noun, isSlow ? 'mb-loading' : '']"
    @mouseenter="isHovered = true" @mouseleave="onMouseLeave" @focusin="onFocus">
    <div class="mb-list-head">
      <span class="mb-muted mb-number mb-small" role="status">{{ shownPosition }}</span>
      <span v-if="note" class="mb-muted mb-small">{{ note }}</span>
      <button v-if="pending" type="button" class="mb-new-button" @click="showPending"><q-icon name="sync"
        aria-hidden="true"></q-icon>Show changes</button>
      <span class="mb-grow"></span>
      <details v-if="shown.length" class="mb-menu-box" @keydown.esc="closeMenu"><summary
        class="mb-tool mb-small"><q-icon name="view_column" aria-hidden="true"></q-icon>Columns</summary>
        <fieldset class="mb-menu-list"><legend class="mb-visually-hidden">Columns</legend><label
          v-for="column in columns" :key="column.name"><input type="checkbox" :checked="isShown(column)"
          @change="toggleColumn(column)">{{ column.label }}</label></fieldset></details>
      <details v-if="shown.length" class="mb-menu-box" @keydown.esc="closeMenu"><summary
        class="mb-tool mb-small"><q-icon name="download" aria-hidden="true"></q-icon>Export</summary>
        <div class="mb-menu-list"><button v-for="format in ['JSON', 'CSV', 'Markdown']" :key="format" type="button"
          class="mb-tool" @click="exportAs(format, $event)">{{ format }}</button><button type="button" class="mb-tool"
          @click="print">Print</button></div></details>
    </div>
    <div v-if="selected.length" class="mb-bulk" role="toolbar" aria-label="Selected memories">
      <strong class="mb-number">{{ selected.length }} selected</strong>
      <form v-if="asked" class="mb-line" @submit.prevent="runBulk(asked, value)"><input ref="asked" v-model="value"
        class="mb-input" maxlength="64" required :aria-label="bulkLabel(asked)" :placeholder="bulkLabel(asked)"
        @keydown.esc="asked = ''"><button type="submit" class="mb-button">Apply</button></form>
      <template v-else><button v-for="name in bulkNames" :key="name" type="button" class="mb-tool" :data-bulk="name"
        @click="startBulk(name)"><q-icon :name="bulkIcon(name)" aria-hidden="true"></q-icon>{{ bulkLabel(name)
        }}</button></template>
      <span class="mb-grow"></span>
      <button type="button" class="mb-tool" @click="selected = []"><q-icon name="close"
        aria-hidden="true"></q-icon>Clear selection</button>
    </div>
    <div v-if="problem" class="mb-card mb-error" role="alert"><h2>{{ problem.message }}</h2><p
      v-if="problem.recovery">{{
      problem.recovery }}</p>
      <p><button type="button" class="mb-button-outline" @click="request('clear')">Clear filters</button></p></div>
    <div v-else-if="shown.length" class="mb-card mb-memories">
      <table>
        <thead><tr><th v-if="bulkNames.length" class="mb-c-check" scope="col"><input type="checkbox"
            aria-label="Select all on this page" :checked="selected.length === shown.length"
            @change="selectAll"></th>
          <th class="mb-c-text" scope="col">{{ title }}</th>
          <th v-for="column in shownColumns" :key="column.name" scope="col"
            :class="['mb-c-' + column.name, isSorted(column) ? 'mb-sorted' : '']"
            :aria-sort="isSorted(column) ? (descending ? 'descending' : 'ascending') : null">
            <button v-if="column.sort" type="button" @click="request('sort', column.sort)">{{ column.label }}<q-icon
              v-if="column.sort === sort" :name="descending ? 'arrow_downward' : 'arrow_upward'"
              aria-hidden="true"></q-icon></button>
            <template v-else>{{ column.label }}</template></th>
          <th v-if="hasActions" class="mb-c-actions" scope="col"><span
            class="mb-visually-hidden">Actions</span></th></tr>
        </thead>
        <tbody>
          <tr v-for="(row, index) in shown" :key="index" :data-ref="row.ref" :data-index="index"
            :class="{ 'mb-inactive': row.is_inactive, 'mb-changed': row.is_changed, 'mb-open': row.id === opened,
              'mb-selected': selected.includes(row.id) }">
            <td v-if="bulkNames.length" class="mb-c-check"><input type="checkbox"
              :checked="selected.includes(row.id)" :aria-label="'Select: ' + label(row)" :tabindex="stop(index)"
              @click="toggle(index, $event)"></td>
            <td class="mb-c-text">
              <div class="mb-row-line"><q-icon :name="typeIcon(row)" :class="'mb-type mb-type-' + row.type" role="img"
                :aria-label="row.type"></q-icon><span v-if="row.about" class="mb-row-about"><button
                v-for="part in row.about" :key="part.name" type="button" :class="['mb-link', 'mb-row-' + part.name]"
                dir="auto" :tabindex="stop(index)" :title="'Filter by this ' + part.name"
                @click="request('add', part.name, part.value)"><template v-if="part.pieces.length"><template
                v-for="(piece, at) in part.pieces" :key="at"><mark v-if="piece[0]">{{ piece[1] }}</mark><template
                v-else>{{ piece[1] }}</template></template></template><template v-else>{{ part.text
                }}</template></button></span>
              <a :href="row.href" class="mb-row-text" dir="auto" :tabindex="stop(index)"
                @click="open(row, $event)"><template v-if="row.pieces.length"><template
                v-for="(piece, at) in row.pieces" :key="at"><mark v-if="piece[0]">{{ piece[1] }}</mark><template
                v-else>{{ piece[1] }}</template></template></template><template v-else>{{ row.text }}</template></a>
              <span v-if="row.chips.length" class="mb-row-chips"><template v-for="chip in row.chips"
                :key="chip.text"><a v-if="chip.href" :href="chip.href" :tabindex="stop(index)"
                :class="['mb-chip', 'mb-chip-' + chip.kind]" :title="chip.title">{{ chip.text }}</a><span v-else
                :class="['mb-chip', chip.kind ? 'mb-chip-' + chip.kind : '']" :title="chip.title">{{ chip.text
                }}</span></template></span></div></td>
            <td v-for="column in shownColumns" :key="column.name"
              :class="['mb-c-' + column.name, isSorted(column) ? 'mb-sorted' : '']">
              <template v-if="column.name === 'tags'"><button v-for="tag in row.tags" :key="tag.value" type="button"
                class="mb-chip mb-chip-tag" dir="auto" title="Filter by this tag" :tabindex="stop(index)"
                @click="request('add', 'tag', tag.value)">#{{ tag.text }}</button><span v-if="row.more_tags"
                class="mb-muted mb-small">+{{ row.more_tags }}</span></template>
              <button v-else-if="column.name === 'scope'" type="button" class="mb-chip mb-chip-owner" dir="auto"
                :tabindex="stop(index)"
                :title="row.by ? 'Filter by this scope; learned by ' + row.by : 'Filter by this butler'"
                @click="request('add', row.owner.name, row.owner.value)">{{ row.owner.text }}</button>
              <template v-else-if="column.name === 'confidence'"><template v-if="row.confidence !== undefined"><span
                v-if="row.pinned" class="mb-muted mb-small">pinned</span><template v-else><span
                class="mb-confidence-bar" role="img" :aria-label="row.confidence + ' percent'"><span
                :style="{ width: row.confidence + '%' }" :class="{ 'mb-low': row.is_low }"></span></span><span
                class="mb-number mb-small" aria-hidden="true">{{ row.confidence
                }}%</span></template></template></template>
              <span v-else-if="column.name === 'importance'" class="mb-number">{{ row.importance }}</span>
              <span v-else-if="column.name === 'record'" class="mb-number mb-record"><span title="Helpful"><q-icon
                name="thumb_up" aria-hidden="true"></q-icon>{{ row.helped }}</span><span title="Harmful"
                :class="{ 'mb-harm': row.harmed }"><q-icon name="thumb_down" aria-hidden="true"></q-icon>{{ row.harmed
                }}</span></span>
              <time v-else-if="row[column.name]" :datetime="row[column.name]" :title="exact(row[column.name])"
                class="mb-time">{{ ago(row[column.name]) }}</time>
              <span v-else class="mb-muted">never</span></td>
            <td v-if="hasActions" class="mb-c-actions"><div><button v-for="name in row.actions" :key="name"
              type="button" :tabindex="stop(index)"
              class="mb-row-action" :data-act="name" :aria-label="actions[name].label + ': ' + label(row)"
              :title="actions[name].label" @click="$event.detail > 1 || $emit('action', name, row.id)"><q-icon
              :name="actions[name].icon" aria-hidden="true"></q-icon></button></div></td>
          </tr>
        </tbody>
      </table>
    </div>
    <div v-else-if="empty === 'idle'" class="mb-card mb-empty"><h2>No {{ noun }} in use</h2>
      <p>All {{ noun }} have been forgotten or replaced, or have expired.</p>
      <p><button type="button" class="mb-button-outline"
        @click="request('add', 'validity', 'all')">Show all</button></p>
    </div>
    <div v-else-if="empty === 'filtered'" class="mb-card mb-empty"><h2>No matching {{ noun }}</h2>
      <p>Try other words or fewer filters.</p>
      <p><button type="button" class="mb-button-outline" @click="request('clear')">Clear filters</button></p></div>
    <nav v-if="has_previous || has_next" class="mb-pager" :aria-label="'Pages of ' + noun">
      <button type="button" class="mb-tool" :disabled="!has_previous" @click="turnPage('previous')"><q-icon
        name="arrow_back" aria-hidden="true"></q-icon>Previous</button>
      <span class="mb-muted mb-number mb-small">{{ shownPosition }}</span>
      <button type="button" class="mb-tool" :disabled="!has_next" @click="turnPage('next')">Next<q-icon
        name="arrow_forward" aria-hidden="true"></q-icon></button>
    </nav>
  </div>`,
  computed: {
    hasActions() {
      return this.shown.some((row) => row.actions.length);
    },
    title() {
      return this.noun === "memories" ? "Memory" : this.noun.charAt(0).toUpperCase() + this.noun.slice(1, -1);
    },
    shownColumns() {
      return this.columns.filter(this.isShown);
    },
    bulkNames() {
      return BULK.filter((name) => (this.bulk || []).includes(name));
    },
  },
  mounted() {
    document.addEventListener("keydown", this.onKey);
    document.addEventListener("click", this.onClickElsewhere);
  },
  beforeUnmount() {
    clearTimeout(this.timer);
    document.removeEventListener("keydown", this.onKey);
    document.removeEventListener("click", this.onClickElsewhere);
  },
  methods: {
    exact,
    ago,
    show(rows) {
      const ids = new Set(rows.map((row) => row.id));
      this.shown = rows;
      this.selected = this.selected.filter((id) => ids.has(id));
      this.active = Math.min(this.active, Math.max(0, rows.length - 1));
    },
    label(row) {
      const about = (row.about || []).map((part) => part.text).join(" ");
      return `${about} ${row.text}`.trim().slice(0, 60);
    },
    typeIcon(row) {
      return TYPE_ICONS[row.type];
    },
    isShown(column) {
      return this.hidden ? !this.hidden.includes(column.name) : column.is_shown || this.isSorted(column);
    },
    toggleColumn(column) {
      const hidden = new Set(this.columns.filter((one) => !this.isShown(one)).map((one) => one.name));
      if (!hidden.delete(column.name)) hidden.add(column.name);
      this.hidden = [...hidden];
      localStorage.setItem(COLUMNS_KEY + this.noun, JSON.stringify(this.hidden));
    },
    isSorted(column) {
      return Boolean(column.sort) && column.sort === this.sort;
    },
    // One tab stop for each row: that of the row that was last in use.
    stop(index) {
      return index === this.active ? 0 : -1;
    },
    hasFocus() {
      return this.$el.contains(document.activeElement);
    },
    onFocus({ target }) {
      const row = target.closest?.("tr[data-index]");
      if (row) this.active = Number(row.dataset.index);
    },
    onClickElsewhere({ target }) {
      for (const box of this.$el.querySelectorAll("details[open]")) if (!box.contains(target)) box.open = false;
    },
    closeMenu({ currentTarget }) {
      currentTarget.open = false;
      currentTarget.querySelector("summary").focus();
    },
    onKey(event) {
      const inTable = event.target.closest?.(".mb-memories tbody");
      const isFree = event.target === document.body || inTable || event.target.id === "content";
      if (!isFree || event.ctrlKey || event.metaKey || event.altKey || document.querySelector(".q-dialog")) return;
      if (event.target.matches("input:not([type=checkbox]), textarea, select")) return;
      const row = this.shown[this.active];
      const steps = { j: 1, k: -1, ...(inTable ? { ArrowDown: 1, ArrowUp: -1 } : {}) };
      const pin = row?.actions.find((name) => name === "pin" || name === "unpin");
      if (event.key in steps) this.move(inTable ? this.active + steps[event.key] : this.active);
      else if (event.key === "x" && row && this.bulkNames.length) this.toggle(this.active, event);
      else if (event.key === "e" && row) this.$emit("edit", row.id);
      else if (event.key === "p" && pin) this.$emit("action", pin, row.id);
      else if (["Delete", "Backspace"].includes(event.key) && row?.actions.includes("forget"))
        this.$emit("action", "forget", row.id);
      else return;
      event.preventDefault();
    },
    move(index) {
      if (!this.shown.length) return;
      this.active = Math.max(0, Math.min(index, this.shown.length - 1));
      this.$nextTick(() => {
        const link = this.$el.querySelector(`tr[data-index="${this.active}"] .mb-row-text`);
        link?.focus();
        link?.scrollIntoView({ block: "nearest" });
        if (this.opened) this.$emit("open", this.shown[this.active].id);
      });
    },
    open(row, event) {
      if (event.ctrlKey || event.metaKey || event.shiftKey || innerWidth <= PHONE_PIXELS) return;
      event.preventDefault();
      this.$emit("open", row.id);
    },
    toggle(index, event) {
      const [from, to] =
        event.shiftKey && this.lastSelected !== null && event.type === "click"
          ? [Math.min(this.lastSelected, index), Math.max(this.lastSelected, index)]
          : [index, index];
      const isOn = !this.selected.includes(this.shown[index].id);
      const ids = new Set(this.selected);
      for (const row of this.shown.slice(from, to + 1)) isOn ? ids.add(row.id) : ids.delete(row.id);
      this.selected = this.shown.map((row) => row.id).filter((id) => ids.has(id));
      this.lastSelected = index;
    },
    selectAll() {
      this.selected = this.selected.length === this.shown.length ? [] : this.shown.map((row) => row.id);
    },
    bulkLabel(name) {
      return BULK_WORDS[name]?.[0] || this.actions[name].label;
    },
    bulkIcon(name) {
      return BULK_WORDS[name]?.[1] || this.actions[name].icon;
    },
    startBulk(name) {
      if (!(name in BULK_WORDS)) {
        this.runBulk(name, "");
        return;
      }
      this.asked = name;
      this.value = "";
      this.$nextTick(() => this.$refs.asked.focus());
    },
    runBulk(name, value) {
      this.$emit("bulk", name, this.selected, value.trim());
      this.asked = "";
    },
    exportAs(format, event) {
      event.target.closest("details").open = false;
      this.$emit("export", format, this.selected);
    },
    print() {
      window.print();
    },
    startLoading() {
      this.isLoading = true;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => {
        this.isSlow = this.isLoading;
      }, SLOW_MS);
    },
    stopLoading() {
      this.isLoading = false;
      this.isSlow = false;
      clearTimeout(this.timer);
    },
    request(name, ...values) {
      this.startLoading();
      this.$emit(name, ...values);
    },
    turnPage(direction) {
      this.request("page", direction);
      scrollTo({ top: 0 });
    },
    showPending() {
      this.show(this.pending);
      this.pending = null;
      this.shownPosition = this.position;
    },
    onMouseLeave() {
      this.isHovered = false;
      if (this.pending && !this.hold_updates && !this.hasFocus()) this.showPending();
    },
    clearSelection() {
      this.selected = [];
    },
    replace(id, row) {
      const substitute = (rows) => rows?.map((other) => (other.id === id ? row : other));
      this.shown = substitute(this.shown);
      this.pending = substitute(this.pending);
    },
  },
};
