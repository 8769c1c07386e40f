/** What is shown of a text: every character, by itself or by its name. Over all code points, and over random texts. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { escapeJson, nameForbidden, showLine, showText } from "../../src/protocol/visible-text.ts";

/** Written apart from the code: what a screen must not be given. */
const unseen =
  /[[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Zs}\p{Variation_Selector}\p{Default_Ignorable_Code_Point}]--[ \n]]/v;
/** Emoji as Unicode lists them, and the text presentation of those that have one. */
const listed = /\p{RGI_Emoji}|[\p{Emoji}--[\p{Emoji_Presentation}0-9#*]]\ufe0e/gv;
/**
 * Looks for emoji only in a text that has something unseen at all: that is the slow part, and there are a million
 * texts.
 */
const hasUnseen = (text: string): boolean => unseen.test(text) && unseen.test(text.replace(listed, "☺"));

const shortNames: Readonly<Record<string, string>> = { TAB: "\t", LF: "\n", CR: "\r", SPACE: " " };

/** The way back: what each name stands for. */
const readShown = (shown: string): string =>
  shown.replace(/‹(?:U\+([0-9A-F]{4,6})[^›]*|([A-Z]+))›/g, (_name, number: string | undefined, word: string) =>
    number === undefined ? (shortNames[word] as string) : String.fromCodePoint(Number.parseInt(number, 16)),
  );

function* allCharacters(): Generator<string> {
  for (let point = 0; point <= 0x10ffff; point += 1) yield String.fromCodePoint(point);
}

/** Rich in what is forbidden, in marks and in the marker. */
const anyText = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom(
        ..."☀👩👧🏴🇩1#🏽\u200d\u20e3\ufe0e\u{e0067}\u{e007f}",
        ..."‹›U+202E \n\t\r\u001b\u202e\u200b\u0301\u0323\u030a\u{e0041}\ufe0f",
        ..."e\u00e9\u212b\u1100\u1161\u11a8\uac00\ud800\udc00",
      ),
      fc.string({ unit: "grapheme" }),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(""));

describe("text as a person can see it", () => {
  it("[GAT-05] of all code points no invisible one is left, each is named or itself, and no two look alike", () => {
    const wrong: string[] = [];
    // A million of them. Each can be read back: so no two look alike.
    for (const char of allCharacters()) {
      const shown = showLine(char);
      const isUnseen = hasUnseen(char);
      if (hasUnseen(shown) || shown.includes("\n") || readShown(shown) !== char) wrong.push(shown);
      const composed = char.normalize("NFC");
      if (composed !== char && isUnseen !== hasUnseen(composed)) wrong.push(char);
      if (isUnseen && shown === char) wrong.push(char);
    }
    expect(wrong.slice(0, 10)).toEqual([]);
  });

  it("[GAT-05] texts can be read back from what is shown: two different ones never look the same", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(readShown(showText(text))).toBe(text);
        expect(readShown(showLine(text))).toBe(text);
        expect(hasUnseen(showText(text))).toBe(false);
        expect(showLine(text)).not.toContain("\n");
        expect(showText(text)).not.toMatch(/ (\n|$)/);
      }),
      { numRuns: 2000 },
    );
  });

  it("[GAT-05] two spellings that look the same are shown differently: what is shown is always composed", () => {
    for (const char of allCharacters()) {
      const apart = char.normalize("NFD");
      if (apart !== char) expect(showText(apart)).not.toBe(showText(char));
    }
    fc.assert(
      fc.property(anyText, (text) => {
        expect(showText(text).normalize("NFC")).toBe(showText(text));
      }),
      { numRuns: 2000 },
    );
    expect([showText("caf\u00e9"), showText("cafe\u0301"), showText("\u212b")]).toEqual([
      "caf\u00e9",
      "cafe‹U+0301›",
      "‹U+212B›",
    ]);
  });

  it.each([
    ["pay \u202e001", "pay ‹U+202E RIGHT-TO-LEFT OVERRIDE›001"],
    ["a\u001b[31mb", "a‹U+001B ESCAPE›[31mb"],
    ["a\u009b31m", "a‹U+009B CONTROL SEQUENCE INTRODUCER›31m"],
    ["x\u200by", "x‹U+200B ZERO WIDTH SPACE›y"],
    ["\u{e0068}\u{e0069}", "‹U+E0068 TAG h›‹U+E0069 TAG i›"],
    ["\ud800", "‹U+D800 LONE SURROGATE›"],
    ["\ue000", "‹U+E000 PRIVATE USE›"],
    ["\u0378", "‹U+0378 UNASSIGNED›"],
    ["a\ufe0f", "a‹U+FE0F VARIATION SELECTOR-16›"],
    ["a\r\n\tb \n", "a‹CR›\n‹TAB›b‹SPACE›\n"],
    ["‹U+202E›", "‹U+2039›U+202E›"],
    ["\u2800\u3164\u00a0", "‹U+2800›‹U+3164 HANGUL FILLER›‹U+00A0 NO-BREAK SPACE›"],
    ["\u0336over", "‹U+0336›over"],
    ["plain – “text”, 日本 עברית हिन्दी 🎉", "plain – “text”, 日本 עברית हिन्दी 🎉"],
  ])("shows %j as %s", (text, shown) => expect(showText(text)).toBe(shown));

  it.each([
    ["emoji presentation", "Summer sale ☀\ufe0f🍉 \u2764\ufe0f"],
    ["text presentation", "\u2764\ufe0e"],
    ["a family", "👩\u200d👩\u200d👧\u200d👦"],
    ["joined signs with a selector", "\u2764\ufe0f\u200d🔥 🏳\ufe0f\u200d🌈"],
    ["skin tones", "👍🏽 👩🏽\u200d💻"],
    ["flags", "🇩🇪🇫🇷"],
    ["a flag of tags that is listed", "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}"],
    ["keycaps", "1\ufe0f\u20e3 #\ufe0f\u20e3"],
  ])("shows listed emoji as they are: %s", (_what, text) => {
    for (const show of [showText, showLine, nameForbidden]) expect(show(text)).toBe(text);
    expect(escapeJson(JSON.stringify(text))).toBe(JSON.stringify(text));
  });

  it.each([
    ["a lone joiner", "pay\u200dpal", "pay‹U+200D ZERO WIDTH JOINER›pal"],
    ["a joiner between emoji that no list joins", "🍉\u200d🍉", "🍉‹U+200D ZERO WIDTH JOINER›🍉"],
    ["a joiner after a listed sequence", "👩\u200d💻\u200d", "👩\u200d💻‹U+200D ZERO WIDTH JOINER›"],
    ["a second selector", "☀\ufe0f\ufe0f", "☀\ufe0f‹U+FE0F VARIATION SELECTOR-16›"],
    ["a selector after a digit alone", "1\ufe0f", "1‹U+FE0F VARIATION SELECTOR-16›"],
    ["text presentation of what has none", "🍉\ufe0e", "🍉‹U+FE0E›"],
    ["tags that are not listed", "🏴\u{e0078}\u{e0078}\u{e007f}", "🏴‹U+E0078 TAG x›‹U+E0078 TAG x›‹U+E007F›"],
    ["an override beside an emoji", "☀\ufe0f\u202e1", "☀\ufe0f‹U+202E RIGHT-TO-LEFT OVERRIDE›1"],
  ])("names what hides, joins or reorders beside emoji: %s", (_what, text, shown) => {
    for (const show of [showText, showLine, nameForbidden]) expect(show(text)).toBe(shown);
  });

  it("[GAT-05] marks that pile up are named, so that they cover nothing", () => {
    expect(showText(`Z${"\u0335".repeat(40)}`)).toBe(`Z${"\u0335".repeat(4)}${"‹U+0335›".repeat(36)}`);
  });

  it("names a line feed where there is to be one line", () => {
    expect(showLine("a\nb")).toBe("a‹LF›b");
  });
});

describe("what stands behind it", () => {
  it("[GAT-05] the last guard leaves what is shown as it is, and lets nothing through that cannot be seen", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(nameForbidden(showText(text))).toBe(showText(text));
        expect(hasUnseen(nameForbidden(text))).toBe(false);
      }),
    );
  });

  it("[GAT-05] JSON says the same, with escapes for what cannot be seen", () => {
    fc.assert(
      fc.property(fc.jsonValue(), anyText, (value, text) => {
        const json = escapeJson(JSON.stringify([value, text], null, 2));
        expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify([value, text])));
        expect(hasUnseen(json)).toBe(false);
      }),
    );
  });
});
