import type { Query } from "./engine.ts";

export type Rows = readonly unknown[];
export type Send = (sql: string, parameters: unknown[]) => Promise<Rows>;

/** A statement and the promise of its answer. */
export interface Asked extends PromiseWithResolvers<Rows> {
  readonly query: Query;
}

export const asked = (query: Query): Asked => ({ ...Promise.withResolvers<Rows>(), query });

/** Sends statements. Equal look-ups with different parameters are sent as one. */
export function sendTogether(waiting: Iterable<Asked>, send: Send): void {
  for (const [together, some] of Map.groupBy(waiting, ({ query }) => query.together)) {
    if (together === undefined || some.length === 1) for (const each of some) sendAlone(each, send);
    else sendAsOne(together, some, send);
  }
}

function sendAlone({ query, resolve, reject }: Asked, send: Send): void {
  send(query.sql, query.parameters as unknown[]).then(resolve, reject);
}

function sendAsOne(together: string, some: readonly Asked[], send: Send): void {
  const lists = (some[0]?.query.parameters ?? []).map((_, index) => some.map(({ query }) => query.parameters[index]));
  send(together, lists).then(
    (rows) => {
      const found: unknown[][] = some.map(() => []);
      for (const { asked_as, ...row } of rows as { asked_as: number }[]) found[asked_as - 1]?.push(row);
      for (const [index, { resolve }] of some.entries()) resolve(found[index] as unknown[]);
    },
    (error: unknown) => {
      for (const { reject } of some) reject(error);
    },
  );
}
