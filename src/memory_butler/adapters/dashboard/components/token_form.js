// Form for a new API token.
export default {
  props: { butler: String, roles: Array, lifetimes: Array, role: String, days: Number, version: Number },
  emits: ["create"],
  data() {
    return { label: "", chosenButler: this.butler, chosenRole: this.role, chosenDays: this.days };
  },
  watch: {
    version() {
      this.label = "";
    },
  },
  template: `
  <form class="mb-sys-form" @submit.prevent="create">
    <label><span class="mb-label">Label</span><input class="mb-input" v-model="label" maxlength="200" dir="auto"
      placeholder="User or program"></label>
    <label><span class="mb-label">Butler</span><input class="mb-input" v-model="chosenButler" maxlength="64"
      required></label>
    <label><span class="mb-label">Role</span><select class="mb-input" v-model="chosenRole">
      <option v-for="choice in roles" :key="choice.value" :value="choice.value">{{ choice.label
        }}</option></select></label>
    <label><span class="mb-label">Expires</span><select class="mb-input" v-model="chosenDays">
      <option v-for="choice in lifetimes" :key="choice.value" :value="choice.value">{{ choice.label
      }}</option></select></label>
    <button class="mb-button" type="submit">Create</button>
  </form>`,
  methods: {
    create() {
      const { label, chosenButler, chosenRole, chosenDays } = this;
      this.$emit("create", { label, butler: chosenButler, role: chosenRole, days: chosenDays });
    },
  },
};
