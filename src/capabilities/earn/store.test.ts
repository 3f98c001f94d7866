import assert from "node:assert/strict";
import { it } from "node:test";
import { type Booking, bookingOf, bookingToStore } from "./store.ts";

/** What earlier versions read of a stored booking. */
function readEarlier(stored: string): Booking {
  const [deposited, withdrawn, number, hash] = JSON.parse(stored) as [string, string, number?, string?];
  const readAt = number !== undefined && hash !== undefined ? { readAt: { number, hash } } : {};
  return { deposited: BigInt(deposited), withdrawn: BigInt(withdrawn), ...readAt };
}

it("a booking is read as it was stored, with and without blocks, and by earlier versions without the block of its own", () => {
  const effect = { deposited: 5n, withdrawn: -3n };
  const readAt = { number: 12, hash: "0xab" };
  const bookings: Booking[] = [effect, { ...effect, block: 9 }, { ...effect, readAt }, { ...effect, block: 9, readAt }];
  for (const booking of bookings) {
    const stored = bookingToStore(booking) as string;
    assert.deepEqual(bookingOf(stored), booking);
    const { block: _, ...earlier } = booking;
    assert.deepEqual(readEarlier(stored), earlier);
  }
});
