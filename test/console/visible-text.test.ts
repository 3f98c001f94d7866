import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { visibleText } from "../../console/src/parts/visible-text.ts";

describe("text that is shown to be approved", () => {
  for (const [what, text, shown] of [
    ["an override of direction", "Pay \u202e001\u202c USD", "Pay [U+202E]001[U+202C] USD"],
    ["isolates", "a\u2066b\u2069\u2067\u2068", "a[U+2066]b[U+2069][U+2067][U+2068]"],
    ["marks of direction", "\u200e\u200f\u061c", "[U+200E][U+200F][U+061C]"],
    ["what has no width", "Ad\u200ba\u2060\ufeff\u00ad", "Ad[U+200B]a[U+2060][U+FEFF][U+00AD]"],
    ["a joiner between Latin letters", "Ad\u200da \u200c", "Ad[U+200D]a [U+200C]"],
    ["tags", "a\u{e0041}\u{e007f}", "a[U+E0041][U+E007F]"],
    ["fillers, and a pattern without dots", "\u3164\u115f\uffa0\u2800", "[U+3164][U+115F][U+FFA0][U+2800]"],
    ["a variation of nothing", "a\ufe0f1\ufe0f \u{e0101}", "a[U+FE0F]1[U+FE0F] [U+E0101]"],
    [
      "control characters",
      "a\u0007\r\u0000\u0085\u007f\u001b[2J",
      "a[U+0007][U+000D][U+0000][U+0085][U+007F][U+001B][2J",
    ],
    ["other ends of lines", "a\u2028b\u2029", "a[U+2028]b[U+2029]"],
    ["many of them", "\u200d".repeat(3), "[U+200D]".repeat(3)],
    ["many after a picture", "\u{1f469}\u200d\u200d\u{1f469}", "\u{1f469}[U+200D][U+200D]\u{1f469}"],
  ] as const) {
    it(`shows ${what}`, () => assert.equal(visibleText(text), shown));
  }

  for (const [what, text] of [
    ["plain text of several lines", "Hello, Bob!\n\tIt is 12 € – “so”.  Yes"],
    ["other scripts", "Ελένη Борис 田中 שלום مرحبا"],
    ["accents that stand by themselves", "e\u0301 o\u0308"],
    ["Persian with what keeps letters apart", "می\u200cخواهم"],
    ["Hindi with what joins letters", "क्\u200dष"],
    [
      "pictures",
      "\u{1f469}\u200d\u{1f680} \u2764\ufe0f \u{1f468}\u{1f3fd}\u200d\u{1f4bb} \u{1f3f3}\ufe0f\u200d\u{1f308} 1\ufe0f\u20e3",
    ],
  ] as const) {
    it(`leaves ${what} alone`, () => assert.equal(visibleText(text), text));
  }

  it("takes time by the length of the text alone", () => {
    assert.equal(visibleText("\u202e".repeat(100_000)).length, 800_000);
  });
});
