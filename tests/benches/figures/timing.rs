//! Measuring in turns.

use std::time::{Duration, Instant};

/// The median time of each of several things, which take turns.
pub fn in_turns(n_rounds: usize, things: &mut [&mut dyn FnMut()]) -> Vec<Duration> {
    let mut times = vec![Vec::with_capacity(n_rounds); things.len()];
    for round in 0..n_rounds {
        // Rotated, so that none is always the first.
        for index in 0..things.len() {
            let index = (index + round) % things.len();
            let start = Instant::now();
            things[index]();
            times[index].push(start.elapsed());
        }
    }
    times.into_iter().map(median).collect()
}

/// The median time of one turn of something short.
pub fn each(n_turns: u32, mut f: impl FnMut()) -> Duration {
    let mut run = || (0..n_turns).for_each(|_| f());
    in_turns(7, &mut [&mut run])[0] / n_turns
}

pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

pub fn line(what: &str, time: Duration, goal: &str) {
    println!("{what:<50} {time:>12.1?}   [{goal}]");
}

pub fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

/// The times of two things, measured in turns.
pub fn pairs(n: usize, one: &mut dyn FnMut(), two: &mut dyn FnMut()) -> Vec<(Duration, Duration)> {
    let time = |f: &mut dyn FnMut()| {
        let start = Instant::now();
        f();
        start.elapsed()
    };
    let mut times = Vec::with_capacity(n);
    for turn in 0..n {
        // Alternated, so that none is always the first.
        times.push(match turn % 2 {
            0 => {
                let first = time(one);
                (first, time(two))
            }
            _ => {
                let first = time(two);
                (time(one), first)
            }
        });
    }
    times
}

/// The tenth, the middle and the ninetieth of a hundred values.
pub fn interval(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    let at = |percent: usize| values[(values.len() - 1) * percent / 100];
    (at(10), at(50), at(90))
}
