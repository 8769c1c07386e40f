/**
 * Text as a person can see it: each character that shows nothing, looks like another or moves what is around it is
 * replaced by its name, as in `‹U+202E RIGHT-TO-LEFT OVERRIDE›`. All faces show texts from outside through these
 * functions.
 *
 * V1  Nothing is dropped and nothing forbidden is left: controls, formats, separators, unusual spaces, variation
 *     selectors, tags, private use, unassigned and lone surrogates are named; so are marks without a letter under them.
 * V2  Two texts never give the same: the bracket that opens a name is named itself, and so is a letter that is written
 *     in another way than it is usually composed.
 * V3  A line feed ends a line in `showText`; in `showLine` it is named. A space at the end of a line is named.
 * V4  An emoji sequence that Unicode lists (RGI_Emoji: joined people, flags, keycaps, skin tones, the selector of emoji
 *     presentation) is shown as it is, and so is the selector of text presentation after a base that has both. A
 *     joiner, a selector or a tag anywhere else is named. Not told apart: letters of different scripts that look alike.
 */

/**
 * Braille blank, object replacement, null notehead and Khitan filler have no mark on paper; Unicode has no class for
 * them.
 */
const unseen = String.raw`\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u{2800}\u{FFFC}\u{1D159}\u{16FE4}`;
const forbidden = `[[${unseen}]--[ \\n]]`;
const forbiddenOrMarker = `[[${unseen}‹]--[ \\n]]`;
/** The longest sequence is taken first; what follows it is judged by itself. */
const listedEmoji = String.raw`(?<emoji>\p{RGI_Emoji}|[\p{Emoji}--[\p{Emoji_Presentation}0-9#*]]\uFE0E)`;
/** Characters that only a sequence holds: a text without them is read by the shorter expression. */
const sequenced = /[\u200D\uFE0E\uFE0F\u{E007F}]/u;

/**
 * Makes two expressions for one class of characters: for texts without emoji sequences, and for those that may hold
 * some.
 */
const finderOf = (chars: string) => ({
  plain: new RegExp(chars, "gv"),
  sequences: new RegExp(`${listedEmoji}|${chars}`, "gv"),
});
const forbiddenChars = finderOf(forbidden);
const forbiddenOrMarkers = finderOf(forbiddenOrMarker);

/** Replaces each of these characters that is not part of a listed emoji sequence. */
function replaceUnlisted(text: string, chars: ReturnType<typeof finderOf>, replace: (char: string) => string): string {
  if (!sequenced.test(text)) return text.replace(chars.plain, replace);
  return text.replace(chars.sequences, (found, emoji: string | undefined) => emoji ?? replace(found));
}

/** Matches marks without a base, and marks that pile up: they would cover the text around them. */
const looseMarks = /(?<=^|[ \n›])\p{M}+|(?<=\p{M}{4})\p{M}+/gu;
const lastSpaces = / (?=\n|$)/g;

/** Those that people meet, and those that others use against them. */
const names: Readonly<Record<string, string>> = {
  "\0": "U+0000 NULL",
  "\u0007": "U+0007 BELL",
  "\b": "U+0008 BACKSPACE",
  "\t": "TAB",
  "\n": "LF",
  "\r": "CR",
  "\u001b": "U+001B ESCAPE",
  " ": "SPACE",
  "\u007f": "U+007F DELETE",
  "\u0085": "U+0085 NEXT LINE",
  "\u009b": "U+009B CONTROL SEQUENCE INTRODUCER",
  "\u00a0": "U+00A0 NO-BREAK SPACE",
  "\u00ad": "U+00AD SOFT HYPHEN",
  "\u034f": "U+034F COMBINING GRAPHEME JOINER",
  "\u061c": "U+061C ARABIC LETTER MARK",
  "\u200b": "U+200B ZERO WIDTH SPACE",
  "\u200c": "U+200C ZERO WIDTH NON-JOINER",
  "\u200d": "U+200D ZERO WIDTH JOINER",
  "\u200e": "U+200E LEFT-TO-RIGHT MARK",
  "\u200f": "U+200F RIGHT-TO-LEFT MARK",
  "\u2028": "U+2028 LINE SEPARATOR",
  "\u2029": "U+2029 PARAGRAPH SEPARATOR",
  "\u202a": "U+202A LEFT-TO-RIGHT EMBEDDING",
  "\u202b": "U+202B RIGHT-TO-LEFT EMBEDDING",
  "\u202c": "U+202C POP DIRECTIONAL FORMATTING",
  "\u202d": "U+202D LEFT-TO-RIGHT OVERRIDE",
  "\u202e": "U+202E RIGHT-TO-LEFT OVERRIDE",
  "\u202f": "U+202F NARROW NO-BREAK SPACE",
  "\u2060": "U+2060 WORD JOINER",
  "\u2066": "U+2066 LEFT-TO-RIGHT ISOLATE",
  "\u2067": "U+2067 RIGHT-TO-LEFT ISOLATE",
  "\u2068": "U+2068 FIRST STRONG ISOLATE",
  "\u2069": "U+2069 POP DIRECTIONAL ISOLATE",
  "\u3000": "U+3000 IDEOGRAPHIC SPACE",
  "\u3164": "U+3164 HANGUL FILLER",
  "\ufe0f": "U+FE0F VARIATION SELECTOR-16",
  "\ufeff": "U+FEFF ZERO WIDTH NO-BREAK SPACE",
};

const kinds: readonly (readonly [RegExp, string])[] = [
  [/\p{Cs}/u, " LONE SURROGATE"],
  [/\p{Co}/u, " PRIVATE USE"],
  [/\p{Cn}/u, " UNASSIGNED"],
];

/** Returns `‹U+202E RIGHT-TO-LEFT OVERRIDE›`, or the number alone if the character has no name here. */
function nameCharacter(char: string): string {
  const known = names[char];
  if (known !== undefined) return `‹${known}›`;
  const number = (char.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, "0");
  return `‹U+${number}${kinds.find(([kind]) => kind.test(char))?.[1] ?? tagOf(char)}›`;
}

/** Returns the ASCII character of a tag character's last seven bits. */
function tagOf(char: string): string {
  const bits = (char.codePointAt(0) as number) - 0xe0000;
  return bits > 0x20 && bits < 0x7f ? ` TAG ${String.fromCharCode(bits)}` : "";
}

const nameEach = (chars: string): string => Array.from(chars, nameCharacter).join("");

/** Makes a text of several lines visible: line feeds stay. */
export function showText(text: string): string {
  const named = replaceUnlisted(text, forbiddenOrMarkers, nameCharacter).replace(looseMarks, nameEach);
  return nameUncomposed(named).replace(lastSpaces, nameCharacter);
}

/** Quotes a text of several lines among our own: it is indented, so that none of its lines looks like one of ours. */
export const quoteText = (text: string): string => showText(text).replace(/^/gm, "    ");

/** Makes a text visible on one line: line feeds are named, too. */
export const showLine = (text: string): string => showText(text).replaceAll("\n", nameCharacter);

/**
 * Names forbidden characters: the last guard before a screen, which leaves visible text unchanged. It does not keep V2;
 * that requires knowing which part of a text came from outside.
 */
export const nameForbidden = (text: string): string => replaceUnlisted(text, forbiddenChars, nameCharacter);

/** Returns the same JSON, with each forbidden character as an escape. @param json a JSON text */
export const escapeJson = (json: string): string =>
  replaceUnlisted(json, forbiddenChars, (char) =>
    Array.from({ length: char.length }, (_, i) => `\\u${char.charCodeAt(i).toString(16).padStart(4, "0")}`).join(""),
  );

const clusters = new Intl.Segmenter("und", { granularity: "grapheme" });

/** Names the unusual one of two spellings of a letter, because they look alike. */
function nameUncomposed(text: string): string {
  if (text === text.normalize("NFC")) return text;
  return Array.from(clusters.segment(text), ({ segment }) =>
    segment === segment.normalize("NFC") ? segment : segment.replace(/[^\0-\x7f]/gu, nameCharacter),
  ).join("");
}
