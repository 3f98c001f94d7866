/** What the server tells anybody, of its own paths. @throws Error where it answers with anything but 200, TypeError where not at all */
export async function readJson<Value>(path: string): Promise<Value> {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}. Try again, or look into the server's log.`);
  return (await answer.json()) as Value;
}
