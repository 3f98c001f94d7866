import assert from "node:assert/strict";
import { test } from "node:test";
import { crc16 } from "./crc16.ts";

test("CRC-16/XMODEM: published check values", () => {
  const cases: [string, number][] = [
    ["", 0],
    ["123456789", 0x31c3],
    ["A", 0x58e5],
    ["\0", 0],
  ];
  for (const [text, crc] of cases) assert.equal(crc16(Buffer.from(text)), crc, JSON.stringify(text));
  assert.equal(crc16(Buffer.alloc(1024, 0xff)) <= 0xffff, true);
});
