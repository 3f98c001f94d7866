import { Text } from "@mantine/core";
import { Link, useSearch } from "@tanstack/react-router";
import { Page } from "../parts/page.tsx";
import { TryOut } from "./try-out.tsx";

/** What would become of an activity, by the policies as they are saved. */
export function Simulate() {
  const { activity: activityId } = useSearch({ from: "/policies/simulate" });
  return (
    <Page title="Simulate">
      <Text>
        What would become of an activity if these users approved it one after the other, by the{" "}
        <Link to="/policies">policies as they are saved</Link>. Nothing is created. One that is not saved yet is tried
        beside its editor.
      </Text>
      <TryOut activityId={activityId} />
    </Page>
  );
}
