// The whole store as a picture: subjects as discs sized by what is known, their facts as dots around them, rules as a
// disc of their own, and labelled lines between subjects. Drawn on a canvas; the list below says the same in words.
import { day } from "/dashboard/dates.js";
import { bounds, dots, place, toSvg } from "/dashboard/map_layout.js";

const HIT_PIXELS = 8;
const ZOOM = { min: 0.2, max: 6 };
const STEP = 40;

const overlap = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

export default {
  props: { subjects: Array, memories: Array, relations: Array, lit: Array, note: String, compact: Boolean },
  emits: ["open", "recall"],
  data() {
    return { until: 1, hover: null, prompt: "", view: { x: 0, y: 0, k: 1 } };
  },
  template: `
  <section class="mb-card mb-map" :class="{ 'mb-map-compact': compact }" aria-label="Map">
    <div v-if="!compact" class="mb-map-tools">
      <form class="mb-map-recall" role="search" aria-label="Recall" @submit.prevent="$emit('recall', prompt)">
        <label><span class="mb-label">What would this prompt recall?</span><input v-model="prompt" type="search"
          maxlength="500" placeholder="Cook dinner for Ana"></label>
        <button type="submit" class="mb-button-outline">Light up</button>
      </form>
      <label class="mb-map-time"><span class="mb-label">Known until {{ untilText }}</span><input v-model.number="until"
        type="range" min="0" max="1" step="0.005" :aria-valuetext="untilText"></label>
      <div class="mb-map-buttons"><button type="button" class="mb-button-outline mb-small" @click="zoom(1.4)"
        aria-label="Zoom in">+</button><button type="button" class="mb-button-outline mb-small" @click="zoom(1 / 1.4)"
        aria-label="Zoom out">−</button><button type="button" class="mb-button-outline mb-small" @click="fit">Fit
        </button><button type="button" class="mb-button-outline mb-small" @click="save">Save as SVG</button></div>
    </div>
    <p v-if="!compact" class="mb-small mb-muted" role="status">{{ note || shownText }}</p>
    <div v-else class="mb-map-head"><h2>What is known</h2><a href="/graph">Open the map</a></div>
    <div class="mb-map-room"><canvas ref="canvas" tabindex="0" role="img" :aria-label="summary"
      @pointerdown="grab" @pointermove="move" @pointerup="drop" @pointerleave="hover = null" @wheel="wheel"
      @keydown="key"></canvas>
      <div v-if="hover" class="mb-map-tip mb-small" :style="{ left: hover.left + 'px', top: hover.top + 'px' }"
        aria-hidden="true"><strong dir="auto">{{ hover.title }}</strong><span v-if="hover.text" dir="auto">{{ hover.text
        }}</span></div></div>
  </section>`,
  computed: {
    moments() {
      return this.memories.map((one) => Date.parse(one.at));
    },
    range() {
      const known = this.moments.length ? this.moments : [Date.now()];
      return [Math.min(...known), Math.max(...known)];
    },
    untilMoment() {
      const [first, last] = this.range;
      return this.until >= 1 ? Number.POSITIVE_INFINITY : first + (last - first) * this.until;
    },
    untilText() {
      return this.until >= 1 ? "now" : day(this.untilMoment);
    },
    shown() {
      return this.memories.filter((_, at) => this.moments[at] <= this.untilMoment);
    },
    shownText() {
      return `${this.shown.length} of ${this.memories.length} memories`;
    },
    summary() {
      const names = this.subjects.slice(0, 8).map((one) => one.label);
      return `Map of ${this.subjects.length} subjects and ${this.shown.length} memories: ${names.join(", ")}`;
    },
    litKeys() {
      return new Set(this.lit);
    },
  },
  watch: {
    subjects: "arrange",
    memories: "arrange",
    until: "draw",
    lit: "draw",
    hover: "draw",
  },
  mounted() {
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.$refs.canvas.parentElement);
    this.theme = new MutationObserver(() => this.draw());
    this.theme.observe(document.body, { attributes: true, attributeFilter: ["class"] });
    this.arrange();
  },
  beforeUnmount() {
    this.observer.disconnect();
    this.theme.disconnect();
  },
  methods: {
    arrange() {
      const room = this.$refs.canvas.parentElement;
      this.discs = place(this.subjects, this.relations, room.clientWidth / Math.max(1, room.clientHeight));
      this.points = dots(this.discs, this.memories);
      this.fit();
    },
    resize() {
      const canvas = this.$refs.canvas;
      const box = canvas.parentElement.getBoundingClientRect();
      const ratio = window.devicePixelRatio || 1;
      canvas.width = box.width * ratio;
      canvas.height = box.height * ratio;
      this.fit();
    },
    fit() {
      const canvas = this.$refs.canvas;
      if (!canvas || !this.discs) return;
      const ratio = window.devicePixelRatio || 1;
      const { left, right, top, bottom } = bounds(this.discs);
      const [width, height] = [canvas.width / ratio, canvas.height / ratio];
      const k = Math.min(2, width / (right - left), height / (bottom - top));
      this.view = { x: width / 2 - (k * (left + right)) / 2, y: height / 2 - (k * (top + bottom)) / 2, k };
      this.draw();
    },
    colours() {
      const style = getComputedStyle(document.body);
      const named = (name) => style.getPropertyValue(`--${name}`).trim();
      const names = ["ink", "muted", "line", "strong-line", "surface", "fact", "rule", "subject", "accent", "warn"];
      return Object.fromEntries(names.map((name) => [name, named(name)]));
    },
    draw() {
      if (this.frame) return;
      this.frame = requestAnimationFrame(() => {
        this.frame = null;
        if (this.$refs.canvas) this.paint();
      });
    },
    paint() {
      const canvas = this.$refs.canvas;
      const pen = canvas.getContext("2d");
      const ratio = window.devicePixelRatio || 1;
      const colours = this.colours();
      const { x, y, k } = this.view;
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.clearRect(0, 0, canvas.width, canvas.height);
      pen.setTransform(ratio * k, 0, 0, ratio * k, ratio * x, ratio * y);
      const dim = this.litKeys.size > 0;
      const focus = this.hover?.disc;
      const beside = focus ? this.besides(focus) : null;
      this.paintRelations(pen, colours, k, beside);
      this.paintDots(pen, colours, k, dim);
      this.paintDiscs(pen, colours, k, beside, dim);
    },
    besides(disc) {
      const found = new Set([disc.key]);
      for (const one of this.relations) {
        if (one.source === disc.key) found.add(one.target);
        if (one.target === disc.key) found.add(one.source);
      }
      return found;
    },
    paintRelations(pen, colours, k, beside) {
      const byKey = new Map(this.discs.map((one) => [one.key, one]));
      pen.font = `${11 / k}px Roboto, system-ui, sans-serif`;
      pen.textAlign = "center";
      for (const one of this.relations) {
        const [from, to] = [byKey.get(one.source), byKey.get(one.target)];
        if (!from || !to) continue;
        const near = beside?.has(one.source) && beside.has(one.target);
        pen.globalAlpha = beside && !near ? 0.15 : 1;
        pen.strokeStyle = near ? colours.accent : colours["strong-line"];
        pen.lineWidth = (near ? 2 : 1.2) / k;
        pen.beginPath();
        pen.moveTo(from.x, from.y);
        pen.lineTo(to.x, to.y);
        pen.stroke();
        if (near || k > 0.9) {
          pen.fillStyle = colours.muted;
          pen.fillText(one.label, (from.x + to.x) / 2, (from.y + to.y) / 2 - 4 / k);
        }
      }
      pen.globalAlpha = 1;
    },
    paintDots(pen, colours, k, dim) {
      for (const one of this.points) {
        if (one.at > this.untilMoment) continue;
        const lit = this.litKeys.has(one.memory.key);
        pen.globalAlpha = dim && !lit ? 0.18 : 0.85;
        pen.fillStyle = lit ? colours.warn : one.memory.kind === "rule" ? colours.rule : colours.fact;
        pen.beginPath();
        pen.arc(one.x, one.y, Math.max(lit ? 5 : 2.6, (lit ? 4 : 1.4) / k), 0, 2 * Math.PI);
        pen.fill();
      }
      pen.globalAlpha = 1;
    },
    paintDiscs(pen, colours, k, beside, dim) {
      pen.textAlign = "center";
      const taken = [];
      for (const one of this.discs) {
        const away = (beside && !beside.has(one.key)) || (dim && !one.keys.some((key) => this.litKeys.has(key)));
        pen.globalAlpha = away ? 0.3 : 1;
        pen.fillStyle = one.kind === "rule" ? colours.rule : colours.subject;
        pen.beginPath();
        pen.arc(one.x, one.y, one.radius, 0, 2 * Math.PI);
        pen.fill();
        const size = Math.max(11, Math.min(15, (9 + one.radius / 4) * k)) / k;
        pen.font = `500 ${size}px Roboto, system-ui, sans-serif`;
        const y = one.y + one.outer + size;
        const half = pen.measureText(one.label).width / 2;
        const box = [one.x - half, y - size, one.x + half, y];
        // The largest first: a label that would cover another is left out until there is room.
        if (taken.some((other) => overlap(box, other))) continue;
        taken.push(box);
        pen.lineWidth = 3 / k;
        pen.strokeStyle = colours.surface;
        pen.strokeText(one.label, one.x, y);
        pen.fillStyle = colours.ink;
        pen.fillText(one.label, one.x, y);
      }
      pen.globalAlpha = 1;
    },
    at(event) {
      const box = this.$refs.canvas.getBoundingClientRect();
      const [left, top] = [event.clientX - box.left, event.clientY - box.top];
      const [x, y] = [(left - this.view.x) / this.view.k, (top - this.view.y) / this.view.k];
      const slack = HIT_PIXELS / this.view.k;
      const near = (one, reach) => Math.hypot(one.x - x, one.y - y) <= reach;
      const disc = this.discs.find((one) => near(one, one.radius + slack / 2));
      const dot = disc ? null : this.points.find((one) => one.at <= this.untilMoment && near(one, slack));
      return { left, top, disc, dot };
    },
    grab(event) {
      if (!this.compact) this.$refs.canvas.setPointerCapture(event.pointerId);
      this.grabbed = { x: event.clientX, y: event.clientY, moved: false };
    },
    move(event) {
      if (this.grabbed) {
        const [dx, dy] = [event.clientX - this.grabbed.x, event.clientY - this.grabbed.y];
        if (!this.compact && (this.grabbed.moved || Math.hypot(dx, dy) > 4)) {
          this.view = { ...this.view, x: this.view.x + dx, y: this.view.y + dy };
          this.grabbed = { x: event.clientX, y: event.clientY, moved: true };
          this.draw();
        }
        return;
      }
      const found = this.at(event);
      const one = found.disc || found.dot;
      this.$refs.canvas.style.cursor = one ? "pointer" : "grab";
      if (!one) {
        this.hover = null;
        return;
      }
      const title = found.disc ? found.disc.label : found.dot.memory.about || "Rule";
      const text = found.disc ? found.disc.words : found.dot.memory.text;
      this.hover = { left: found.left + 14, top: found.top + 14, title, text, disc: found.disc };
    },
    drop(event) {
      const moved = this.grabbed?.moved;
      this.grabbed = null;
      if (moved) return;
      const { disc, dot } = this.at(event);
      if (dot) this.$emit("open", dot.memory.key);
      else if (disc && disc.kind === "subject") this.$emit("open", `subject:${disc.key}`);
    },
    wheel(event) {
      // A picture within a page lets the page scroll.
      if (this.compact) return;
      event.preventDefault();
      const box = this.$refs.canvas.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY / 400), event.clientX - box.left, event.clientY - box.top);
    },
    zoom(by, left = this.$refs.canvas.clientWidth / 2, top = this.$refs.canvas.clientHeight / 2) {
      const k = Math.min(ZOOM.max, Math.max(ZOOM.min, this.view.k * by));
      const ratio = k / this.view.k;
      this.view = { x: left - (left - this.view.x) * ratio, y: top - (top - this.view.y) * ratio, k };
      this.draw();
    },
    key(event) {
      const steps = { ArrowLeft: [STEP, 0], ArrowRight: [-STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP] };
      const step = steps[event.key];
      if (step) this.view = { ...this.view, x: this.view.x + step[0], y: this.view.y + step[1] };
      else if (event.key === "+" || event.key === "=") this.zoom(1.2);
      else if (event.key === "-") this.zoom(1 / 1.2);
      else if (event.key === "0") this.fit();
      else return;
      event.preventDefault();
      this.draw();
    },
    save() {
      const points = this.points.filter((one) => one.at <= this.untilMoment);
      const svg = toSvg({ discs: this.discs, points, relations: this.relations, lit: this.litKeys }, this.colours());
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
      link.download = "memory-map.svg";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    },
  },
};
