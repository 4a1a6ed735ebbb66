// The inbox: what waits for a decision, its source beside it. A approves, R rejects, E edits, J and K move.
import { short } from "/dashboard/dates.js";

const DISMISSED_KEY = "memory-butler-not-duplicates";
const ELEMENTS = { added: "ins", removed: "del" };

function dismissed() {
  try {
    return JSON.parse(localStorage.getItem(DISMISSED_KEY)) || [];
  } catch {
    return [];
  }
}

export default {
  props: { rows: Array },
  emits: ["decide"],
  data() {
    return { key: "", editing: false, typed: "", decided: 0, busy: "", dismissed: dismissed() };
  },
  watch: {
    rows() {
      this.busy = "";
      if (!this.current || this.current.key !== this.key) this.choose(this.index);
    },
  },
  template: `
  <div v-if="!shown.length" class="mb-card mb-empty"><h2>{{ decided ? "All decided" : "Nothing to review" }}</h2>
    <p>Proposals of consolidation, quarantined memories and possible duplicates appear here.</p></div>
  <div v-else class="mb-inbox" @focusin="onFocus">
    <ol class="mb-inbox-list" aria-label="To review"><li v-for="(row, at) in shown" :key="row.key"><button type="button"
      class="mb-inbox-entry" :data-entry="row.key" :aria-current="at === index ? 'true' : null"
      @click="choose(at)"><span :class="'mb-chip mb-chip-' + row.type">{{ row.label }}</span> <span class="mb-one-line"
      dir="auto"><b v-if="row.about.length">{{ row.about.join(" ") }}</b> {{ row.shown }}</span></button></li></ol>
    <section class="mb-card mb-inbox-source" aria-label="Source">
      <h2>Source</h2>
      <p v-if="!current.sources.length" class="mb-muted">No source is on record.</p>
      <blockquote v-for="source in current.sources" :key="source.ref" class="mb-text" dir="auto"><template
        v-for="(piece, at) in source.pieces" :key="at"><mark v-if="piece[0]">{{ piece[1] }}</mark><template v-else>{{
        piece[1] }}</template></template>
        <footer class="mb-muted mb-small"><a :href="source.href">{{ source.ref }}</a> · {{ source.butler }} · {{
          short(source.at) }}</footer></blockquote>
    </section>
    <section class="mb-card mb-inbox-proposal" :aria-label="current.label">
      <p class="mb-line"><span :class="'mb-chip mb-chip-' + current.type">{{ current.type }}</span><span
        class="mb-muted mb-number mb-small" role="status">{{ progress }}</span><span class="mb-grow"></span><a
        class="mb-small" :href="current.href">Open</a></p>
      <p v-if="current.about.length" class="mb-text mb-inbox-about" dir="auto"><b>{{ current.about[0] }}</b> <span
        class="mb-muted">{{ current.about[1] }}</span></p>
      <textarea v-if="editing" ref="text" v-model="typed" class="mb-input mb-inbox-text" rows="4" dir="auto"
        aria-label="Text" @keydown.esc.stop="stopEditing" @keydown.ctrl.enter="decide('approve')"
        @keydown.meta.enter="decide('approve')"></textarea>
      <p v-else class="mb-text mb-inbox-text" dir="auto"><template v-if="current.pieces.length"><template
        v-for="(piece, at) in current.pieces" :key="at"><component v-if="element(piece[0])" :is="element(piece[0])">{{
        piece[1] }}</component><template v-else>{{ piece[1] }}</template></template></template><template v-else>{{
        current.shown }}</template></p>
      <p class="mb-muted">{{ current.why }}</p>
      <div class="mb-line mb-inbox-actions">
        <button type="button" class="mb-button" data-decide="approve" :disabled="Boolean(busy)"
          @click="decide('approve')">{{ current.approve }} <kbd>A</kbd></button>
        <button type="button" class="mb-button-small mb-button-danger" data-decide="reject" :disabled="Boolean(busy)"
          @click="decide('reject')">{{ current.reject }} <kbd>R</kbd></button>
        <button v-if="current.editable && !editing" type="button" class="mb-button-small" data-decide="edit"
          @click="edit">Edit <kbd>E</kbd></button>
        <button v-if="editing" type="button" class="mb-tool" @click="stopEditing">Leave it</button>
        <span class="mb-muted mb-small mb-inbox-keys"><kbd>J</kbd> <kbd>K</kbd> next, previous</span>
      </div>
    </section>
  </div>`,
  computed: {
    shown() {
      return this.rows.filter((row) => !this.dismissed.includes(row.key));
    },
    index() {
      const at = this.shown.findIndex((row) => row.key === this.key);
      return at < 0 ? Math.min(this.last || 0, this.shown.length - 1) : at;
    },
    current() {
      return this.shown[this.index];
    },
    progress() {
      return `${this.decided + this.index + 1} of ${this.decided + this.shown.length}`;
    },
  },
  mounted() {
    document.addEventListener("keydown", this.onKey);
    if (this.current) this.choose(0);
  },
  beforeUnmount() {
    document.removeEventListener("keydown", this.onKey);
  },
  methods: {
    short,
    element(kind) {
      return ELEMENTS[kind];
    },
    choose(at) {
      this.last = Math.max(0, Math.min(at, this.shown.length - 1));
      this.key = this.shown[this.last]?.key || "";
      this.editing = false;
    },
    onFocus({ target }) {
      const at = this.shown.findIndex((row) => row.key === target.dataset?.entry);
      if (at >= 0 && at !== this.index) this.choose(at);
    },
    onKey(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || !this.current) return;
      if (event.target.matches("input, textarea, select") || document.querySelector(".q-dialog")) return;
      const works = {
        a: () => this.decide("approve"),
        r: () => this.decide("reject"),
        e: this.edit,
        j: () => this.choose(this.index + 1),
        k: () => this.choose(this.index - 1),
      };
      const work = works[event.key.toLowerCase()];
      if (!work) return;
      event.preventDefault();
      work();
    },
    edit() {
      if (!this.current.editable) return;
      this.typed = this.current.text;
      this.editing = true;
      this.$nextTick(() => this.$refs.text.focus());
    },
    stopEditing() {
      this.editing = false;
    },
    decide(decision) {
      if (this.busy) return;
      const row = this.current;
      const text = this.editing ? this.typed : row.text;
      this.last = this.index;
      this.decided += 1;
      this.editing = false;
      if (row.kind === "duplicate" && decision === "reject") {
        this.dismissed = [...this.dismissed, row.key];
        localStorage.setItem(DISMISSED_KEY, JSON.stringify(this.dismissed));
        this.choose(this.last);
        return;
      }
      this.busy = row.key;
      this.$emit("decide", row.key, decision, text);
      setTimeout(() => {
        this.busy = "";
      }, 4000);
    },
  },
};
