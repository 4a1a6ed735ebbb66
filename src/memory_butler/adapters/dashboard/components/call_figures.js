// Figures of the calls of agents, and a bar for each day: all calls, and the part that returned memories.
export default {
  props: { figures: Array, days: Array },
  template: `
  <section class="mb-card mb-call-figures" aria-label="Calls in figures">
    <dl class="mb-call-numbers">
      <div v-for="one in figures" :key="one.label"><dt class="mb-muted mb-small">{{ one.label }}</dt>
        <dd class="mb-number">{{ one.value }}</dd></div>
    </dl>
    <ol class="mb-call-days" aria-label="Calls a day">
      <li v-for="day in days" :key="day.label" :title="day.words">
        <span class="mb-visually-hidden">{{ day.words }}</span>
        <i aria-hidden="true" :style="{ height: share(day.calls) }"><b :style="{ height: part(day) }"></b></i>
      </li>
    </ol>
    <p v-if="days.length" class="mb-call-ends mb-muted mb-small"><span>{{ days[0].label }}</span><span
      >Bars: calls a day; dark: returned memories</span><span>{{ days[days.length - 1].label }}</span></p>
  </section>`,
  computed: {
    most() {
      return Math.max(1, ...this.days.map((day) => day.calls));
    },
  },
  methods: {
    share(calls) {
      return `${(100 * calls) / this.most}%`;
    },
    part(day) {
      return day.calls ? `${(100 * day.answered) / day.calls}%` : "0";
    },
  },
};
