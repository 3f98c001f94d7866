import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { it } from "node:test";
import { Registry } from "prom-client";
import { HOUR_MS } from "../../kernel/durations.ts";
import { measureDatabase } from "./database.ts";

it("a clock an hour off is told, either way, by how much PostgreSQL's is ahead of it", async () => {
  for (const [offMs, toldSeconds] of [
    [HOUR_MS, -3600],
    [-HOUR_MS, 3600],
  ] as const) {
    const now = 1_800_000_000_000;
    const database = {
      kind: "postgres",
      read: { kind: "postgres", all: async () => [{ now }] },
      figures: () => ({ commitsWaiting: 0, pool: undefined }),
    } as unknown as Parameters<typeof measureDatabase>[2];
    const registry = new Registry();
    const config = { databaseUrl: "postgres://localhost/keystead", dataDir: tmpdir() };
    measureDatabase(registry, config, database, () => now + offMs);
    const metric = await registry.getSingleMetric("keystead_clock_skew_seconds")?.get();
    assert.deepEqual(
      metric?.values.map(({ value }) => value),
      [toldSeconds],
    );
  }
});
