/**
 * The marks of a drawing, read back out of its text: what is written where, and which boxes there are. Never: asserts.
 */
export interface Marked {
  readonly words: string;
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Height and width of a sign, by the class of its text, as `src/observers/drawing/svg.ts` sets the font. */
const sizes: Readonly<Record<string, number>> = { title: 16, name: 13 };
const perHeight = 0.602;

const numberIn = (attributes: string, name: string): number =>
  Number(new RegExp(`(?:^|\\s)${name}="(-?[\\d.]+)"`).exec(attributes)?.[1] ?? 0);

const countPlaces = (words: string): number =>
  [...words].reduce((sum, sign) => sum + ((sign.codePointAt(0) ?? 0) < 0x1100 ? 1 : 2), 0);

const plain = (text: string): string => text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

/** All texts and boxes, with the moves of the groups around them. */
export function marksIn(svg: string): { readonly texts: readonly Marked[]; readonly boxes: readonly Marked[] } {
  const texts: Marked[] = [];
  const boxes: Marked[] = [];
  const moves: (readonly [number, number])[] = [[0, 0]];
  for (const [, tag = "", attributes = "", words = ""] of svg.matchAll(/<(\/?\w+)([^>]*)>([^<]*)/g)) {
    const [dx, dy] = moves.at(-1) as readonly [number, number];
    if (tag === "g") {
      const [, x = 0, y = 0] = /translate\((-?[\d.]+),(-?[\d.]+)\)/.exec(attributes) ?? [];
      moves.push([dx + Number(x), dy + Number(y)]);
    } else if (tag === "/g") moves.pop();
    const [x, y] = [dx + numberIn(attributes, "x"), dy + numberIn(attributes, "y")];
    if (tag === "rect" && attributes.includes('class="box'))
      boxes.push({
        words: "",
        left: x,
        top: y,
        right: x + numberIn(attributes, "width"),
        bottom: y + numberIn(attributes, "height"),
      });
    if (tag !== "text") continue;
    const size = sizes[/class="(\w+)/.exec(attributes)?.[1] ?? ""] ?? 11;
    const width = countPlaces(plain(words)) * size * perHeight;
    const left = attributes.includes('text-anchor="end"') ? x - width : x;
    texts.push({ words: plain(words), left, right: left + width, top: y - 0.75 * size, bottom: y + 0.2 * size });
  }
  return { texts, boxes };
}

const meet = (a: Marked, b: Marked): boolean =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

const holds = (outer: Marked, inner: Marked): boolean =>
  outer.left <= inner.left && inner.right <= outer.right && outer.top <= inner.top && inner.bottom <= outer.bottom;

/** Texts that lie on one another, or across the edge of a box; and boxes that cross. */
export function overlapsIn(svg: string): readonly string[] {
  const { texts, boxes } = marksIn(svg);
  const pairs = texts.flatMap((one, at) =>
    texts.slice(at + 1).flatMap((other) => (meet(one, other) ? [[one, other]] : [])),
  );
  const crossing = boxes.flatMap((box) => texts.filter((one) => meet(box, one) && !holds(box, one)));
  const crossed = boxes.flatMap((box, at) =>
    boxes.slice(at + 1).filter((other) => meet(box, other) && !holds(box, other) && !holds(other, box)),
  );
  return [
    ...pairs.map((pair) => pair.map(({ words }) => words).join(" on ")),
    ...crossing.map(({ words }) => `${words} across a box`),
    ...crossed.map(() => "a box across a box"),
  ];
}

/** Texts and boxes that reach over the edge of the picture. */
export function outsideOf(svg: string): readonly string[] {
  const [, width = 0, height = 0] = /viewBox="0 0 (\d+) (\d+)"/.exec(svg) ?? [];
  const page: Marked = { words: "", left: 0, top: 0, right: Number(width), bottom: Number(height) };
  const { texts, boxes } = marksIn(svg);
  return [...texts, ...boxes].filter((mark) => !holds(page, mark)).map(({ words }) => words);
}
