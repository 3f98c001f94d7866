import { Text } from "@mantine/core";
import { Link, useSearch } from "@tanstack/react-router";
import { Page } from "../parts/page.tsx";
import { TryOut } from "./try-out.tsx";

/** Predicts the outcome of an activity with the saved policies. */
export function Simulate() {
  const { activity: activityId } = useSearch({ from: "/policies/simulate" });
  return (
    <Page title="Simulate">
      <Text>
        The outcome of an activity if these users approved it one after the other, with the{" "}
        <Link to="/policies">saved policies</Link>. Nothing is created. To try a policy that is not saved yet, use its
        editor.
      </Text>
      <TryOut activityId={activityId} />
    </Page>
  );
}
