"""What a page looks like, measured in the browser: contrast, widths of controls, and axe's findings."""

from typing import Any

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page

# Texts whose contrast to what is behind them is below WCAG AA, and fields whose border is. Colours are composed from
# all backgrounds behind an element; what is disabled or not visible is left out.
_FAINT = """() => {
  const parse = (text) => {
    const found = text.match(/[\\d.]+/g).map(Number);
    const whole = text.startsWith("color(srgb") ? found.slice(0, 3).map((one) => one * 255) : found.slice(0, 3);
    return [...whole, found.length > 3 ? found[3] : 1];
  };
  const over = (top, under) => [0, 1, 2].map((at) => top[at] * top[3] + under[at] * (1 - top[3])).concat(1);
  const behind = (element) => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) layers.push(parse(getComputedStyle(one).backgroundColor));
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]);
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((one) => one / 255)
      .map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const opacity = (element) => {
    let whole = 1;
    for (let one = element; one; one = one.parentElement) whole *= Number(getComputedStyle(one).opacity);
    return whole;
  };
  const isShown = (element) => element.checkVisibility({ visibilityProperty: true }) &&
    element.getClientRects().length &&
    !element.closest("[disabled], [aria-hidden=true], .mb-visually-hidden, .mb-skip");
  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || ["SCRIPT", "STYLE", "OPTION"].includes(element.tagName) || !isShown(element)) continue;
    if (getComputedStyle(element).clipPath !== "none") continue;
    const style = getComputedStyle(element);
    const size = parseFloat(style.fontSize);
    const needed = size >= 24 || (size >= 18.6 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const ground = behind(element);
    const colour = parse(element instanceof SVGElement ? style.fill : style.color);
    colour[3] *= opacity(element);
    const got = contrast(over(colour, ground), ground);
    if (got < needed - 0.01) faint.push(`${got.toFixed(2)}: ${node.data.trim().slice(0, 40)} (${element.className})`);
  }
  const fields = "main :is(input:not([type=checkbox], [type=range]), select, textarea):not(.q-field__native)";
  for (const field of document.querySelectorAll(fields + ", .q-field__control")) {
    if (!isShown(field)) continue;
    const line = parse(getComputedStyle(field, field.matches(".q-field__control") ? "::before" : null).borderTopColor);
    const ground = behind(field.parentElement);
    const got = contrast(over(line, ground), ground);
    if (got < 2.99) faint.push(`border ${got.toFixed(2)}: ${field.outerHTML.slice(0, 80)}`);
  }
  return faint;
}"""
_NARROW = """() => [
    ...document.querySelectorAll("main :is(input:not([type=checkbox], [type=range]), select, textarea)")]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }) && one.getBoundingClientRect().width < MINIMUM)
  .map((one) => `${one.getBoundingClientRect().width}: ${one.outerHTML.slice(0, 90)}`)"""
_SERIOUS = ("serious", "critical")


async def faint_parts(page: Page) -> list[str]:
    """Texts with too little contrast (4.5:1; 3:1 if large), and fields with too faint a border (3:1)."""
    found: list[str] = await page.evaluate(_FAINT)
    return found


async def narrow_controls(page: Page, minimum: int = 76) -> list[str]:
    """Fields that are too narrow to read what is in them."""
    found: list[str] = await page.evaluate(_NARROW.replace("MINIMUM", str(minimum)))
    return found


async def axe_findings(page: Page) -> list[str]:
    """The serious and critical violations that axe-core finds on the page."""
    # What fades in or out has a contrast of its own for a moment.
    await page.evaluate("Promise.all(document.getAnimations().map((one) => one.finished.catch(() => 0)))")
    violations: list[dict[str, Any]] = (await Axe().run(page)).response["violations"]
    return [
        f"{one['id']}: {node['html'][:120]}" for one in violations if one["impact"] in _SERIOUS for node in one["nodes"]
    ]
