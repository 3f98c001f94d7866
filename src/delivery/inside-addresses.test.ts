import assert from "node:assert/strict";
import { it } from "node:test";
import { insideAddressesIn } from "./inside-addresses.ts";

it("finds what only exists in a private network, in any place of a text", () => {
  const text =
    "451 4.4.1 mx1.corp.internal[10.1.2.3]:25 (also 192.168.0.9:587, fd00::7 and ::ffff:10.0.0.4) at 12:30:45: localhost.localdomain is away";
  assert.deepEqual(insideAddressesIn(text), [
    "fd00::7",
    "::ffff:10.0.0.4",
    "10.1.2.3",
    "192.168.0.9",
    "10.0.0.4",
    "mx1.corp.internal",
    "localhost.localdomain",
  ]);
});

it("leaves what everybody can know, and numbers that are no addresses", () => {
  const text =
    "550 5.1.1 mx.example.com[93.184.216.34]:25 [2606:2800:220:1::1] says no: 4.7.0 12:30:45 999.1.1.1 internal";
  assert.deepEqual(insideAddressesIn(text), []);
});
