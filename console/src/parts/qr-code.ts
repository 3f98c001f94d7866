/**
 * QR codes (ISO/IEC 18004) of short texts, such as addresses: their bytes, with so much correction that 15 % of a symbol may be
 * unreadable (level M), in the versions 1 to 10.
 */

/** By version: how many correction codewords each block has, and how many of data. */
const BLOCKS: readonly [correction: number, data: readonly number[]][] = [
  [10, [16]],
  [16, [28]],
  [26, [44]],
  [18, [32, 32]],
  [24, [43, 43]],
  [16, [27, 27, 27, 27]],
  [18, [31, 31, 31, 31]],
  [22, [38, 38, 39, 39]],
  [22, [36, 36, 36, 37, 37]],
  [26, [43, 43, 43, 43, 44]],
];
const VERSIONS_WITH_SHORT_COUNT = 9;
const FIRST_VERSION_TOLD = 7;
const BYTE_MODE = 0b0100;
const PADDING = [0xec, 0x11];

/** Rows of modules, true where dark; undefined of a text that is too long. */
export function qrCode(text: string): boolean[][] | undefined {
  const bytes = new TextEncoder().encode(text);
  const version = BLOCKS.findIndex(([, blocks], index) => bytes.length <= sumOf(blocks) - headerBytes(index + 1)) + 1;
  if (version === 0) return undefined;
  const codewords = codewordsOf(bytes, version);
  const codes = MASKS.map((_, mask) => symbolOf(version, codewords, mask));
  const penalties = codes.map(penaltyOf);
  return codes[penalties.indexOf(Math.min(...penalties))];
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);

/** Of the mode and the count of bytes, rounded up. */
const headerBytes = (version: number): number => (version <= VERSIONS_WITH_SHORT_COUNT ? 2 : 3);

/** What a symbol says: data and its correction, of all blocks in turn. */
function codewordsOf(bytes: Uint8Array, version: number): number[] {
  const [correction, blocks] = BLOCKS[version - 1] as (typeof BLOCKS)[number];
  const bits =
    bitsOf(BYTE_MODE, 4) +
    bitsOf(bytes.length, version <= VERSIONS_WITH_SHORT_COUNT ? 8 : 16) +
    [...bytes].map((byte) => bitsOf(byte, 8)).join("");
  const ended = `${bits}0000`;
  const data = (ended.padEnd(Math.ceil(ended.length / 8) * 8, "0").match(/.{8}/g) ?? []).map((each) =>
    Number.parseInt(each, 2),
  );
  const room = sumOf(blocks);
  // The end and what fills its byte are left out where there is no room for them.
  data.length = Math.min(data.length, room);
  for (let index = 0; data.length < room; index++) data.push(PADDING[index % 2] as number);
  const parts = blocks.map((length, index) => {
    const start = sumOf(blocks.slice(0, index));
    return data.slice(start, start + length);
  });
  return [...inTurn(parts), ...inTurn(parts.map((part) => correctionOf(part, correction)))];
}

const bitsOf = (value: number, length: number): string => value.toString(2).padStart(length, "0");

/** The first of each, the second of each, and so on. */
const inTurn = (lists: readonly number[][]): number[] =>
  Array.from({ length: Math.max(...lists.map(({ length }) => length)) }, (_, index) =>
    lists.flatMap((list) => list.slice(index, index + 1)),
  ).flat();

/** In the field of 256 elements whose polynomial is x⁸ + x⁴ + x³ + x² + 1. */
function product(one: number, other: number): number {
  let result = 0;
  for (let bit = 7; bit >= 0; bit--) {
    result = (result << 1) ^ ((result >> 7) * 0x11d);
    result ^= ((other >> bit) & 1) * one;
  }
  return result;
}

/** The Reed-Solomon codewords of a block: what is left of the data, divided by the product of (x - 2^i). */
export function correctionOf(data: readonly number[], length: number): number[] {
  let divisor = [1];
  for (let index = 0, root = 1; index < length; index++, root = product(root, 2)) {
    const shifted = [...divisor, 0];
    divisor = shifted.map((each, place) => each ^ product(divisor[place - 1] ?? 0, root));
  }
  let rest: number[] = Array.from({ length }, () => 0);
  for (const byte of data) {
    const factor = byte ^ (rest[0] as number);
    rest = [...rest.slice(1), 0].map((each, place) => each ^ product(divisor[place + 1] as number, factor));
  }
  return rest;
}

/** What a mask turns over. */
const MASKS: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

/** With the remainder of a BCH code behind it. */
function coded(value: number, bits: number, divisor: number): number {
  const degree = 31 - Math.clz32(divisor);
  let rest = value << degree;
  for (let bit = bits - 1; bit >= 0; bit--) if ((rest >> (bit + degree)) & 1) rest ^= divisor << bit;
  return (value << degree) | rest;
}

/** The mask, and by two zero bits the level. */
export const formatBits = (mask: number): number => coded(mask, 5, 0b10100110111) ^ 0b101010000010010;
export const versionBits = (version: number): number => coded(version, 6, 0b1111100100101);

/** Where the small squares are, on both axes. */
function alignmentOf(version: number, size: number): number[] {
  if (version === 1) return [];
  const last = size - 7;
  return version < FIRST_VERSION_TOLD ? [6, last] : [6, (6 + last) / 2, last];
}

function symbolOf(version: number, codewords: readonly number[], mask: number): boolean[][] {
  const size = 17 + 4 * version;
  const modules: (boolean | undefined)[][] = Array.from({ length: size }, () => Array(size).fill(undefined));
  const set = (x: number, y: number, isDark: boolean) => {
    const row = modules[y];
    if (row && x >= 0 && x < size) row[x] = isDark;
  };
  drawPatterns(version, size, set);
  drawFormat(size, mask, set);
  if (version >= FIRST_VERSION_TOLD) drawVersion(version, size, set);
  const bits = codewords.map((byte) => bitsOf(byte, 8)).join("");
  let next = 0;
  for (const [x, y] of placesOf(size)) {
    if (modules[y]?.[x] !== undefined) continue;
    // Modules that are left over count as light before the mask.
    set(x, y, (bits[next++] === "1") !== MASKS[mask]?.(x, y));
  }
  return modules as boolean[][];
}

type Set = (x: number, y: number, isDark: boolean) => void;

function drawPatterns(version: number, size: number, set: Set): void {
  for (let at = 0; at < size; at++) {
    set(6, at, at % 2 === 0);
    set(at, 6, at % 2 === 0);
  }
  const square = (centerX: number, centerY: number, reach: number, isDark: (distance: number) => boolean) => {
    for (let y = -reach; y <= reach; y++) {
      for (let x = -reach; x <= reach; x++) set(centerX + x, centerY + y, isDark(Math.max(Math.abs(x), Math.abs(y))));
    }
  };
  for (const [x, y] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ] as const) {
    square(x, y, 4, (distance) => distance !== 2 && distance !== 4);
  }
  const places = alignmentOf(version, size);
  const last = size - 7;
  for (const x of places) {
    for (const y of places) {
      const isInCorner = (x === 6 && y === 6) || (x === 6 && y === last) || (x === last && y === 6);
      if (!isInCorner) square(x, y, 2, (distance) => distance !== 1);
    }
  }
}

/** Twice: around the first square, and at the two others. */
function drawFormat(size: number, mask: number, set: Set): void {
  const format = formatBits(mask);
  for (let bit = 0; bit < 15; bit++) {
    const isDark = ((format >> bit) & 1) === 1;
    if (bit < 8) {
      set(8, bit < 6 ? bit : bit + 1, isDark);
      set(size - 1 - bit, 8, isDark);
    } else {
      set(bit === 8 ? 7 : 14 - bit, 8, isDark);
      set(8, size - 15 + bit, isDark);
    }
  }
  set(8, size - 8, true);
}

function drawVersion(version: number, size: number, set: Set): void {
  const told = versionBits(version);
  for (let bit = 0; bit < 18; bit++) {
    const isDark = ((told >> bit) & 1) === 1;
    const across = size - 11 + (bit % 3);
    const along = Math.floor(bit / 3);
    set(across, along, isDark);
    set(along, across, isDark);
  }
}

/** Modules in the order of the bits: by columns of two, upwards and downwards in turn, from the right. */
export function placesOf(size: number): [x: number, y: number][] {
  const places: [number, number][] = [];
  let isUpwards = true;
  for (let right = size - 1; right > 0; right -= 2) {
    if (right === 6) right--;
    for (let step = 0; step < size; step++) {
      const y = isUpwards ? size - 1 - step : step;
      places.push([right, y], [right - 1, y]);
    }
    isUpwards = !isUpwards;
  }
  return places;
}

/** How hard a symbol is to read, by the four rules of the standard: runs, blocks, what looks like a corner, and imbalance. */
function penaltyOf(code: boolean[][]): number {
  const size = code.length;
  const rows = code.map((row) => row.map(Number).join(""));
  const columns = rows.map((_, x) => rows.map((row) => row[x]).join(""));
  let penalty = 0;
  for (const line of [...rows, ...columns]) {
    for (const [run] of line.matchAll(/0{5,}|1{5,}/g)) penalty += run.length - 2;
    penalty += 40 * [...line.matchAll(/(?=10111010000|00001011101)/g)].length;
  }
  for (let y = 1; y < size; y++) {
    for (let x = 1; x < size; x++) {
      const four = `${rows[y]?.slice(x - 1, x + 1)}${rows[y - 1]?.slice(x - 1, x + 1)}`;
      if (four === "0000" || four === "1111") penalty += 3;
    }
  }
  const dark = rows.join("").replaceAll("0", "").length;
  return penalty + 10 * Math.floor(Math.abs((dark * 20) / (size * size) - 10));
}
