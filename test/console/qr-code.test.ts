import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { correctionOf, formatBits, placesOf, qrCode, versionBits } from "../../console/src/parts/qr-code.ts";

describe("QR codes", () => {
  it("correct as the example of ISO/IEC 18004 does, annex I", () => {
    const data = [0x10, 0x20, 0x0c, 0x56, 0x61, 0x80, 0xec, 0x11, 0xec, 0x11, 0xec, 0x11, 0xec, 0x11, 0xec, 0x11];
    const correction = [0xa5, 0x24, 0xd4, 0xc1, 0xed, 0x36, 0xc7, 0x87, 0x2c, 0x55];
    assert.deepEqual(correctionOf(data, correction.length), correction);
  });

  it("say their format and version by the bits of its tables, annexes C and D", () => {
    const formats = [0x5412, 0x5125, 0x5e7c, 0x5b4b, 0x45f9, 0x40ce, 0x4f97, 0x4aa0];
    assert.deepEqual([0, 1, 2, 3, 4, 5, 6, 7].map(formatBits), formats);
    assert.deepEqual([7, 8, 9, 10].map(versionBits), [0x07c94, 0x085bc, 0x09a99, 0x0a4d3]);
  });

  for (const length of [1, 14, 15, 42, 44, 62, 103, 106, 122, 130, 152, 180, 181, 213]) {
    it(`of ${length} characters are read again`, () => {
      const text = "0xAb5801a7D398351b8bE11C439e05C5B3259aeC9B".repeat(6).slice(0, length);
      assert.equal(textOf(qrCode(text) as boolean[][]), text);
    });
  }

  it("are not made of texts that are too long for them", () => {
    assert.equal(qrCode("a".repeat(214)), undefined);
  });
});

/** As the standard has them, annex E, and table 9 for level M: correction codewords of a block, and the data of each. */
const ALIGNED: Record<number, number[]> = {
  ...{ 1: [], 2: [6, 18], 3: [6, 22], 4: [6, 26], 5: [6, 30], 6: [6, 34] },
  ...{ 7: [6, 22, 38], 8: [6, 24, 42], 9: [6, 26, 46], 10: [6, 28, 50] },
};
const DATA: Record<number, number[]> = {
  ...{ 1: [16], 2: [28], 3: [44], 4: [32, 32], 5: [43, 43], 6: [27, 27, 27, 27], 7: [31, 31, 31, 31] },
  ...{ 8: [38, 38, 39, 39], 9: [36, 36, 36, 37, 37], 10: [43, 43, 43, 43, 44] },
};
const TURNED: ((x: number, y: number) => number)[] = [
  (x, y) => (x + y) % 2,
  (_, y) => y % 2,
  (x) => x % 3,
  (x, y) => (x + y) % 3,
  (x, y) => (Math.floor(y / 2) + Math.floor(x / 3)) % 2,
  (x, y) => ((x * y) % 2) + ((x * y) % 3),
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2,
  (x, y) => (((x * y) % 3) + ((x + y) % 2)) % 2,
];

/** Reads a symbol without errors, as a camera would see it. */
function textOf(code: boolean[][]): string {
  const size = code.length;
  const version = (size - 17) / 4;
  const at = (x: number, y: number): boolean => code[y]?.[x] === true;
  const format = [0, 1, 2, 3, 4, 5, 7, 8]
    .map((y) => at(8, y))
    .reduce((sum, bit, index) => sum | (Number(bit) << index), 0);
  const high = [7, 5, 4, 3, 2, 1, 0].reduce((sum, x, index) => sum | (Number(at(x, 8)) << (8 + index)), 0);
  const mask = ((format | high) ^ 0x5412) >> 10;
  assert.equal(mask >> 3, 0, "level M");
  const centers = ALIGNED[version] as number[];
  const isPattern = (x: number, y: number): boolean =>
    (x < 9 && y < 9) ||
    (x >= size - 8 && y < 9) ||
    (x < 9 && y >= size - 8) ||
    x === 6 ||
    y === 6 ||
    (version >= 7 && ((x >= size - 11 && y < 6) || (y >= size - 11 && x < 6))) ||
    centers.some((centerX) =>
      centers.some((centerY) => {
        const isCorner = (centerX === 6 && centerY !== centers[1]) || (centerY === 6 && centerX !== centers[1]);
        const isFree = centers.length < 3 ? centerX !== 6 && centerY !== 6 : !isCorner;
        return isFree && Math.abs(x - centerX) <= 2 && Math.abs(y - centerY) <= 2;
      }),
    );
  const bits = placesOf(size)
    .filter(([x, y]) => !isPattern(x, y))
    .map(([x, y]) => Number(at(x, y) !== (TURNED[mask]?.(x, y) === 0)))
    .join("");
  const codewords = (bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2));
  const lengths = DATA[version] as number[];
  const blocks: number[][] = lengths.map(() => []);
  let next = 0;
  for (let index = 0; index < Math.max(...lengths); index++) {
    for (const [place, block] of blocks.entries()) {
      if (index < (lengths[place] as number)) block.push(codewords[next++] as number);
    }
  }
  const data = blocks
    .flat()
    .map((byte) => byte.toString(2).padStart(8, "0"))
    .join("");
  assert.equal(data.slice(0, 4), "0100");
  const start = version < 10 ? 12 : 20;
  const count = Number.parseInt(data.slice(4, start), 2);
  const bytes = (data.slice(start, start + 8 * count).match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2));
  return Buffer.from(bytes).toString();
}
