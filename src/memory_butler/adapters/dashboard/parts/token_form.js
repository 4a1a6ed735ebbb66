// Who a new token is for, as what, and for how long.
export default {
  props: { butler: String, roles: Array, ends: Array, role: String, days: Number, version: Number },
  emits: ["create"],
  data() { return { label: "", named: this.butler, chosen: this.role, long: this.days }; },
  watch: { version() { this.label = ""; } },
  template: `
  <form class="mb-sys-form" @submit.prevent="$emit('create', { label, butler: named, role: chosen, days: long })">
    <label><span class="mb-label">Label</span><input class="mb-input" v-model="label" maxlength="200" dir="auto" placeholder="Who or what it is for"></label>
    <label><span class="mb-label">Butler</span><input class="mb-input" v-model="named" maxlength="64" required></label>
    <label><span class="mb-label">Role</span><select class="mb-input" v-model="chosen">
      <option v-for="one in roles" :key="one.value" :value="one.value">{{ one.label }}</option></select></label>
    <label><span class="mb-label">How long</span><select class="mb-input" v-model="long">
      <option v-for="one in ends" :key="one.value" :value="one.value">{{ one.label }}</option></select></label>
    <button class="mb-button" type="submit">Create</button>
  </form>`,
};
