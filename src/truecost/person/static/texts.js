// What the page says of answers, of requests that fail, and of how the run stands.

const EXPIRED = "The session has ended: run the command again and open its link.";
export const LEARNT = "The system has learnt from it: this answer cannot be taken back.";
export const KEPT = "Your answer is kept here and sent again.";
export const SKIP = "Choose “No answer”, or try again later.";
/** Why an answer is not wanted any more. */
export const OVER = { answered: "This was answered already.", taken: LEARNT, unknown: "This question has ended." };
export const ENDED = {
  done: "All done. Thank you.",
  stopped: "Stopped. Your answers are kept: run the command again to go on.",
  failed: "The run has failed. Your answers are kept.",
};

/** What is asked where neither the question nor the settings say it. */
export function askOf({ kind, output }) {
  if (kind === "text") return output === undefined ? "Write the text." : "Correct the text.";
  return { number: "Which number?", region: "Who speaks when?", verdict: "Is the output right?" }[kind] ?? "What is this?";
}

/** Why a request has failed. */
export function fault(status, reply) {
  if (status === 0) return "No connection.";
  if (status === 401) return EXPIRED;
  const text = reply.error ?? `The server refuses this (status ${status})`;
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

/** How things stand while there is no question. */
export function waitingFor(reply, live) {
  if (reply.state !== "open") return ENDED[reply.state] ?? reply.state;
  if (!reply.total) return "The first question comes in a moment.";
  if (reply.waits) return "Others are answering the last questions. A question that somebody leaves is shown here.";
  if (live) return "The system is learning. The next question is shown as soon as there is one.";
  return "You have answered everything. Thank you.";
}
