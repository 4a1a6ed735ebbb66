// Positions of the map, always the same for the same store: discs of subjects spread by size and drawn together by
// their relations, dots of memories in rings around their disc.
const GOLDEN = Math.PI * (3 - Math.sqrt(5));
const ROUNDS = 120;
const GAP = 26;
const DOT_GAP = 7.5;
const RULES = "rules";

export const radiusOf = (count) => 5 + 2.6 * Math.sqrt(count);
// Dots fill rings around a disc: the n-th one stands at this distance from its edge.
const ring = (at) => 5 + DOT_GAP * 0.55 * Math.sqrt(at + 1);

// `aspect` is the width of the picture divided by its height.
export function place(subjects, relations, aspect) {
  const stretch = Math.sqrt(Math.min(2.2, Math.max(0.5, aspect)));
  const discs = subjects.map((one, at) => {
    const radius = radiusOf(one.count);
    const outer = radius + (one.keys.length ? ring(one.keys.length) + 3 : 0);
    const away = at ? 34 * Math.sqrt(at) + 26 : 0;
    return {
      ...one,
      radius,
      outer,
      x: away * stretch * Math.cos(at * GOLDEN),
      y: (away / stretch) * Math.sin(at * GOLDEN),
    };
  });
  const byKey = new Map(discs.map((one) => [one.key, one]));
  const pairs = relations.map((one) => [byKey.get(one.source), byKey.get(one.target)]).filter(([a, b]) => a && b);
  for (let round = 0; round < ROUNDS; round++) {
    const heat = 1 - round / ROUNDS;
    for (const [a, b] of pairs) attract(a, b, 0.04 * heat);
    for (const one of discs) {
      one.x *= 1 - 0.004 * heat;
      one.y *= 1 - 0.004 * heat;
    }
    for (let i = 0; i < discs.length; i++) for (let j = i + 1; j < discs.length; j++) separate(discs[i], discs[j]);
  }
  return discs;
}

function attract(a, b, share) {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const distance = Math.hypot(dx, dy) || 1;
  const pull = (share * Math.max(0, distance - a.outer - b.outer - GAP)) / distance;
  a.x += dx * pull;
  a.y += dy * pull;
  b.x -= dx * pull;
  b.y -= dy * pull;
}

function separate(a, b) {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const least = a.outer + b.outer + GAP;
  if (Math.abs(dx) >= least || Math.abs(dy) >= least) return;
  const distance = Math.hypot(dx, dy) || 0.01;
  if (distance >= least) return;
  const push = (least - distance) / distance / 2;
  // The larger one moves less.
  const share = a.radius / (a.radius + b.radius);
  a.x -= dx * push * 2 * (1 - share);
  a.y -= dy * push * 2 * (1 - share);
  b.x += dx * push * 2 * share;
  b.y += dy * push * 2 * share;
}

// The smallest box that holds all discs with their labels.
export function bounds(discs) {
  if (!discs.length) return { left: -60, right: 60, top: -60, bottom: 60 };
  return {
    left: Math.min(...discs.map((one) => one.x - one.outer - 24)),
    right: Math.max(...discs.map((one) => one.x + one.outer + 24)),
    top: Math.min(...discs.map((one) => one.y - one.outer)),
    bottom: Math.max(...discs.map((one) => one.y + one.outer + 22)),
  };
}

export function dots(discs, memories) {
  const byKey = new Map(discs.map((one) => [one.key, one]));
  const counts = new Map();
  return memories.flatMap((memory) => {
    const disc = byKey.get(memory.disc);
    if (!disc) return [];
    const at = counts.get(disc.key) || 0;
    counts.set(disc.key, at + 1);
    const reach = disc.radius + ring(at);
    const angle = at * GOLDEN;
    const [x, y] = [disc.x + reach * Math.cos(angle), disc.y + reach * Math.sin(angle)];
    return [{ x, y, memory, at: Date.parse(memory.at) }];
  });
}

const escaped = (text) =>
  String(text).replace(/[&<>"]/g, (one) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[one]);
const round = (value) => Math.round(10 * value) / 10;

export function toSvg({ discs, points, relations, lit }, colours) {
  const byKey = new Map(discs.map((one) => [one.key, one]));
  const { left, right, top, bottom } = bounds(discs);
  const box = `${round(left)} ${round(top)} ${round(right - left)} ${round(bottom - top)}`;
  const [x, y, width, height] = box.split(" ");
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${box}" font-family="sans-serif" text-anchor="middle">`,
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="${colours.surface}"/>`,
  ];
  for (const one of relations) {
    const [a, b] = [byKey.get(one.source), byKey.get(one.target)];
    if (!a || !b) continue;
    const line = `x1="${round(a.x)}" y1="${round(a.y)}" x2="${round(b.x)}" y2="${round(b.y)}"`;
    const [x, y] = [round((a.x + b.x) / 2), round((a.y + b.y) / 2 - 3)];
    parts.push(`<line ${line} stroke="${colours["strong-line"]}"/>`);
    parts.push(`<text x="${x}" y="${y}" font-size="9" fill="${colours.muted}">${escaped(one.label)}</text>`);
  }
  for (const one of points) {
    const fill = lit.has(one.memory.key) ? colours.warn : one.memory.kind === "rule" ? colours.rule : colours.fact;
    parts.push(`<circle cx="${round(one.x)}" cy="${round(one.y)}" r="2.6" fill="${fill}"/>`);
  }
  for (const one of discs) {
    const fill = one.key === RULES ? colours.rule : colours.subject;
    const [x, y] = [round(one.x), round(one.y)];
    parts.push(`<circle cx="${x}" cy="${y}" r="${round(one.radius)}" fill="${fill}"/>`);
    const below = round(one.y + one.outer + 12);
    parts.push(`<text x="${x}" y="${below}" font-size="12" fill="${colours.ink}">${escaped(one.label)}</text>`);
  }
  return `${parts.join("")}</svg>`;
}
