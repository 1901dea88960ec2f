(* Clocks, the drift, the guard. Points in real time and readings of clocks are whole numbers of one
   unit, as small as the reader likes; the code's unit is a microsecond. *)
From Coq Require Import ZArith Lia.
Open Scope Z_scope.

Definition million := 1000000.

(* How far clocks may err (S2: "the factor must cover how fast a node's wall clock may run"). In a
   million of real time no clock counts more than a million + fast, and no client's less than a
   million - slow. A reading is wrong by a rounding: a server counts whole milliseconds, a client
   whole microseconds. *)
Record errors := { fast : Z; slow : Z; server_grain : Z; client_grain : Z }.

Definition sane (x : errors) := 0 <= fast x /\ 0 <= slow x < million /\ 0 <= server_grain x /\
  0 <= client_grain x.

Section Clocks.
Variable x : errors.
Let f := fast x.
Let l := slow x.

(* A clock between two points in real time. A server's clock must not run fast. It may run slowly,
   stand still, or be stepped back: all of these only keep a key for longer. *)
Definition runs_no_faster (grain : Z) (clock : Z -> Z) :=
  forall a b, a <= b -> million * (clock b - clock a) <= (million + f) * (b - a) + million * grain.

Definition runs_no_slower (grain : Z) (clock : Z -> Z) :=
  forall a b, a <= b -> (million - l) * (b - a) <= million * (clock b - clock a) + million * grain.

Definition server_clock := runs_no_faster (server_grain x).
Definition client_clock clock := runs_no_faster (client_grain x) clock /\
  runs_no_slower (client_grain x) clock.

(* At least this long has passed in real time between two points if clocks, each once, have counted
   a span between them. *)
Definition counted (span a b : Z) :=
  million * span <= (million + f) * (b - a) + million * (server_grain x + client_grain x).

Lemma server_counts clock span a b :
  sane x -> server_clock clock -> a <= b -> span <= clock b - clock a -> counted span a b.
Proof. unfold sane, server_clock, runs_no_faster, counted, million. intros H H1 H2 H3.
specialize (H1 a b H2). lia. Qed.

Lemma client_counts clock span a b :
  sane x -> client_clock clock -> a <= b -> span <= clock b - clock a -> counted span a b.
Proof. unfold sane, client_clock, runs_no_faster, counted, million. intros H [H1 _] H2 H3.
specialize (H1 a b H2). lia. Qed.

(* S11: the guard of a server that was met at a first contact, whose uptime is believed:
   begin_guard, guard_left_us. *)
Lemma uptime_counts server client up span restarted met voted :
  server_clock server -> client_clock client -> restarted <= met <= voted ->
  up <= server met - server restarted -> span <= client voted - client met + up ->
    counted span restarted voted.
Proof.
  unfold server_clock, client_clock, runs_no_faster, counted, million. intros H1 [H2 _] H3 H4 H5.
  specialize (H1 restarted met ltac:(lia)). specialize (H2 met voted ltac:(lia)). lia.
Qed.

Lemma counted_earlier span a a' b : sane x -> counted span a b -> a' <= a -> counted span a' b.
Proof. unfold counted, sane, million, f. nia. Qed.

Lemma counted_shorter span span' a b : counted span a b -> span' <= span -> counted span' a b.
Proof. unfold counted, million. lia. Qed.

(* S2: the drift covers the clocks. What a client counts in ttl - drift is, in real time, shorter
   than a TTL on a server. *)
Definition covers (ttl drift : Z) :=
  (million + f) * (ttl - drift + client_grain x) <= (million - l) *
    (ttl - server_grain x - client_grain x).

(* The interval argument. A client counts less than ttl - drift from its start on; some clock counts
   the TTL from a later point on: then the client is done first. *)
Lemma client_ends_first clock ttl drift start now begin finish :
  sane x -> covers ttl drift -> client_clock clock -> start <= begin ->
  counted ttl begin finish -> clock now - clock start + drift < ttl -> start <= now -> now < finish.
Proof.
  unfold sane, covers, client_clock, runs_no_slower, counted, million. fold f l.
  intros [? [? [? ?]]] Hc [_ Hs] Hb Hn Hv Ho.
  destruct (Z_lt_ge_dec now finish) as [|Hge]; [assumption|exfalso].
  specialize (Hs start now Ho).
  assert (A : (1000000 - l) * (finish - begin) < 1000000 * (ttl - drift + client_grain x)).
  { assert ((1000000 - l) * (finish - begin) <= (1000000 - l) * (now - start))
    by (apply Z.mul_le_mono_nonneg_l; lia). lia. }
  assert (B : 1000000 * (ttl - server_grain x - client_grain x) <= (1000000 + f) * (finish - begin))
    by lia.
  assert (C : (1000000 + f) * ((1000000 - l) * (finish - begin)) < (1000000 + f) * (1000000 *
    (ttl - drift + client_grain x)))
    by (apply Z.mul_lt_mono_pos_l; lia).
  assert (D : (1000000 - l) * (1000000 * (ttl - server_grain x - client_grain x))
              <= (1000000 - l) * ((1000000 + f) * (finish - begin)))
                by (apply Z.mul_le_mono_nonneg_l; lia).
  lia.
Qed.

End Clocks.

(* ---- The arithmetic of redlock/quorum.c ---- *)

(* drift_us, with the very divisions of the code. *)
Definition drift_fixed_us := 2000.
Definition drift_us (ttl_ms ppm : Z) :=
  (ttl_ms / 1000) * ppm + ((ttl_ms mod 1000) * ppm + 999) / 1000 + drift_fixed_us.

(* validity_us, of numbers that are no larger than 2^64 - 1. *)
Definition validity_us (ttl_ms elapsed drift : Z) :=
  let ttl_us := ttl_ms * 1000 in
  if ttl_us <=? drift then 0 else if elapsed <? ttl_us - drift then ttl_us - drift - elapsed else 0.

(* S2: "rounded against us". *)
Lemma drift_is_rounded_against_us ttl_ms ppm :
  0 <= ttl_ms -> 0 <= ppm -> ttl_ms * 1000 * ppm <= million *
    (drift_us ttl_ms ppm - drift_fixed_us).
Proof.
  intros Ht Hp. unfold drift_us, million.
  pose proof (Z.div_mod ttl_ms 1000 ltac:(lia)) as E. pose proof
    (Z.mod_pos_bound ttl_ms 1000 ltac:(lia)).
  set (q := ttl_ms / 1000) in *. set (r := ttl_ms mod 1000) in *.
  pose proof (Z.div_mod (r * ppm + 999) 1000 ltac:(lia)) as E2.
  pose proof (Z.mod_pos_bound (r * ppm + 999) 1000 ltac:(lia)).
  set (c := (r * ppm + 999) / 1000) in *. rewrite E. nia.
Qed.

(* S2: "validity > 0" says that less than ttl - drift has been counted. *)
Lemma validity_is_positive ttl_ms elapsed drift :
  0 <= elapsed -> (0 < validity_us ttl_ms elapsed drift <-> elapsed + drift < ttl_ms * 1000).
Proof.
  unfold validity_us. destruct (Z.leb_spec (ttl_ms * 1000) drift); [lia|].
  destruct (Z.ltb_spec elapsed (ttl_ms * 1000 - drift)); lia.
Qed.

(* S2: a drift factor that is at least the sum of how fast and how slow clocks may run covers them,
   with the fixed part for the rounding. The unit may be any part of a microsecond. *)
Theorem drift_covers_clocks x parts ttl_ms ppm :
  0 < parts -> 0 < ttl_ms -> sane x -> fast x + slow x <= ppm ->
  server_grain x + 2 * client_grain x <= parts * drift_fixed_us ->
  covers x (parts * (ttl_ms * 1000)) (parts * drift_us ttl_ms ppm).
Proof.
  unfold sane, covers. intros Hp Ht [Hf [Hl [Hg Hh]]] Hs Hgrain.
  pose proof (drift_is_rounded_against_us ttl_ms ppm ltac:(lia) ltac:(lia)) as H.
  set (d := drift_us ttl_ms ppm) in *. set (f := fast x) in *. set (l := slow x) in *.
  set (g := server_grain x) in *. set (h := client_grain x) in *.
  unfold million, drift_fixed_us in *.
  set (T := ttl_ms * 1000) in *.
  assert (HT : 0 < T) by lia.
  assert (A : T * (f + l) <= 1000000 * (d - 2000)) by nia.
  assert (B : parts * (T * (f + l)) <= parts * (1000000 * (d - 2000)))
    by (apply Z.mul_le_mono_nonneg_l; lia).
  set (P := parts * T) in *. set (D := parts * d) in *.
  assert (B' : P * (f + l) <= 1000000 * (D - parts * 2000)) by (unfold P, D; lia).
  assert (C : f * (D - h) >= f * (D - parts * 2000)) by nia.
  assert (E : 0 <= D - parts * 2000) by nia.
  assert (F : 0 <= f * (D - parts * 2000)) by nia.
  assert (G : l * (g + h) <= 1000000 * (g + h)) by nia.
  assert (K : 0 <= f * (parts * 2000 - h)) by nia.
  nia.
Qed.

(* chrony slews by at most 83,333 ppm. With the default factor of 1 % clocks are not covered then;
   with 8.4 % they are, if the client's clock is not slewed the other way at the same time. *)
Definition slewed (server client : Z) : errors :=
  {| fast := server; slow := client; server_grain := 1000; client_grain := 1 |}.
Example one_percent_does_not_cover_chrony :
  ~ covers (slewed 83333 0) (30000 * 1000) (drift_us 30000 10000).
Proof. unfold covers. vm_compute. congruence. Qed.
Example more_than_eight_percent_cover_chrony :
  covers (slewed 83333 500) (30000 * 1000) (drift_us 30000 84000).
Proof. unfold covers. vm_compute. congruence. Qed.
Example eight_percent_do_not_cover_chrony_on_both_sides :
  ~ covers (slewed 83333 83333) (30000 * 1000) (drift_us 30000 84000).
Proof. unfold covers. vm_compute. congruence. Qed.
Example fifteen_and_a_half_percent_do :
  covers (slewed 83333 83333) (30000 * 1000) (drift_us 30000 155000).
Proof. unfold covers. vm_compute. congruence. Qed.
